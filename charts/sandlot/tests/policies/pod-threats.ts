/** One rule of the policies on Pod specs: what it refuses, and what it lets pass. */
export interface PodThreat {
  readonly rule: string;
  /** Fields of the Pod spec that the rule refuses. */
  readonly deny: Readonly<Record<string, Fields>>;
  /** Fields that look alike and are allowed. */
  readonly allow?: Readonly<Record<string, Fields>>;
  /** Fields that the API server itself refuses in Pods, with the flags of the tests. */
  readonly denyTemplates?: Readonly<Record<string, Fields>>;
}

export type Fields = Readonly<Record<string, unknown>>;

const onContainer = (fields: Fields): Fields => ({ containers: [{ name: 'main', image: 'busybox', ...fields }] });
const onInit = (fields: Fields): Fields => ({ initContainers: [{ name: 'first', image: 'busybox', ...fields }] });
const volume = (source: Fields): Fields => ({ volumes: [{ name: 'v', ...source }] });
const secured = (securityContext: Fields): Fields => onContainer({ securityContext });
const disk = (spec: Fields): Fields =>
  volume({
    ephemeral: {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
      },
    },
  });
const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'theirs' };

/** Threats that count for Sandboxes, SandboxTemplates and Pods alike. */
export const podThreats: readonly PodThreat[] = [
  {
    rule: 'host',
    deny: {
      'the network of the node': { hostNetwork: true },
      'the processes of the node': { hostPID: true },
      'the memory segments of the node': { hostIPC: true },
      'a port of the node': onContainer({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
      'a port of the node for a first container': onInit({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
      'a probe of the metadata service': onContainer({
        livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } },
      }),
      'a probe of a port of the node': onContainer({ readinessProbe: { tcpSocket: { host: '127.0.0.1', port: 10250 } } }),
      'a hook that calls the metadata service': onContainer({
        lifecycle: { postStart: { httpGet: { host: '169.254.169.254', port: 80 } } },
      }),
    },
    allow: {
      'ports and probes of its own': onContainer({
        ports: [{ containerPort: 80 }],
        livenessProbe: { httpGet: { port: 80, path: '/' } },
        startupProbe: { exec: { command: ['true'] } },
      }),
      'a user namespace': { hostUsers: false },
    },
  },
  {
    rule: 'privilege',
    denyTemplates: {
      'a privileged container': secured({ privileged: true }),
      'a privileged first container': onInit({ securityContext: { privileged: true } }),
    },
    deny: {
      'a capability over the machine': secured({ capabilities: { add: ['SYS_ADMIN'] } }),
      'all capabilities': secured({ capabilities: { add: ['ALL'] } }),
      'a capability in another spelling': secured({ capabilities: { add: ['CAP_NET_ADMIN'] } }),
      'an unmasked /proc': { hostUsers: false, ...secured({ procMount: 'Unmasked' }) },
      'no seccomp filter': { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      'no seccomp filter for a container': secured({ seccompProfile: { type: 'Unconfined' } }),
      'no AppArmor profile': secured({ appArmorProfile: { type: 'Unconfined' } }),
      'an SELinux type without limits': secured({ seLinuxOptions: { type: 'spc_t' } }),
      'an SELinux user': { securityContext: { seLinuxOptions: { user: 'system_u' } } },
      'an unsafe sysctl': { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } },
    },
    allow: {
      'fewer capabilities': secured({ capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
      'root in the container': secured({ runAsUser: 0, allowPrivilegeEscalation: true }),
      'the profile of the runtime': { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
      'a safe sysctl': { securityContext: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '1' }] } },
    },
  },
  {
    rule: 'volumes',
    deny: {
      'a folder of the node': volume({ hostPath: { path: '/' } }),
      'an NFS server': volume({ nfs: { server: '10.0.0.1', path: '/' } }),
      'an iSCSI target': volume({ iscsi: { targetPortal: '10.0.0.1', iqn: 'iqn.2001-04.com.example:x', lun: 0 } }),
      'a driver of the node': volume({ flexVolume: { driver: 'example.com/any' } }),
      'an inline CSI volume': volume({ csi: { driver: 'secrets-store.csi.k8s.io' } }),
    },
    allow: {
      'memory, settings and a disk': {
        volumes: [
          { name: 'a', emptyDir: { medium: 'Memory' } },
          { name: 'b', configMap: { name: 'settings' } },
          { name: 'c', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'd', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        ],
      },
      'an image, which is mounted read-only': volume({ image: { reference: 'registry.example.com/tools:1' } }),
      'a CSI driver that the operator allows': volume({ csi: { driver: 'inline.example.com' } }),
    },
  },
  {
    rule: 'tokens',
    deny: {
      'a token of its ServiceAccount': { automountServiceAccountToken: true },
      'a token for another audience': volume({
        projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'sts.amazonaws.com' } }] },
      }),
      'a token in a volume named like the one of admission': {
        volumes: [
          {
            name: 'kube-api-access-abcde',
            projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'vault' } }] },
          },
        ],
      },
    },
    allow: {
      'no token': { automountServiceAccountToken: false },
      'other projected volumes': volume({ projected: { sources: [{ configMap: { name: 'settings' } }] } }),
    },
  },
  {
    rule: 'nodes',
    deny: {
      'a node of its choice': { nodeName: 'control-plane-1' },
      'every taint': { tolerations: [{ operator: 'Exists' }] },
      'the taint of the control plane': {
        tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
      },
      'the priority of the system': { priorityClassName: 'system-node-critical' },
    },
    allow: {
      'a label and a taint of nodes': {
        nodeSelector: { pool: 'sandboxes' },
        tolerations: [{ key: 'dedicated', value: 'sandboxes', effect: 'NoSchedule' }],
      },
    },
  },
  {
    rule: 'runtime',
    deny: { 'a runtime that the operator does not list': { runtimeClassName: 'nvidia' } },
    allow: { 'a runtime that the operator lists': { runtimeClassName: 'gvisor' }, 'no runtime class': {} },
  },
  {
    rule: 'disks',
    deny: {
      'a volume of someone else': disk({ volumeName: 'theirs' }),
      'a volume by its labels': disk({ selector: { matchLabels: { tenant: 'theirs' } } }),
      'a copy of a snapshot': disk({ dataSource: source }),
      'a copy from elsewhere': disk({ dataSourceRef: source }),
    },
    allow: { 'a new disk': disk({}) },
  },
];
