import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, recordAt } from '../storage/api-object.ts';

/**
 * Defaults of the real server that matter to controllers that compare their objects with those on the server. Each
 * function sets only absent fields.
 */

function setDefaults(target: OpenRecord, defaults: OpenRecord): void {
  for (const [member, value] of Object.entries(defaults)) target[member] ??= value;
}

/** Makes sure that a member is an object, and returns it. */
function ensureObject(target: OpenRecord, member: string): OpenRecord {
  const value = recordAt(target, member);
  target[member] = value;
  return value;
}

function parseRecords(value: unknown): OpenRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function defaultPod(pod: ApiObject): void {
  const spec = ensureObject(pod, 'spec');
  setDefaults(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  for (const container of [...parseRecords(spec['containers']), ...parseRecords(spec['initContainers'])]) {
    defaultContainer(container);
  }
  setDefaults(ensureObject(pod, 'status'), { phase: 'Pending', qosClass: 'BestEffort' });
}

function defaultContainer(container: OpenRecord): void {
  const image = typeof container['image'] === 'string' ? container['image'] : '';
  const latest = !/[:@][^/]*$/.test(image) || image.endsWith(':latest');
  setDefaults(container, {
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: latest ? 'Always' : 'IfNotPresent',
  });
  for (const port of parseRecords(container['ports'])) setDefaults(port, { protocol: 'TCP' });
}

export function defaultService(service: ApiObject): void {
  const spec = ensureObject(service, 'spec');
  setDefaults(spec, {
    type: 'ClusterIP',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ipFamilyPolicy: 'SingleStack',
    ipFamilies: ['IPv4'],
    clusterIP: '10.96.0.100',
  });
  setDefaults(spec, { clusterIPs: [spec['clusterIP']] });
  for (const port of parseRecords(spec['ports'])) setDefaults(port, { protocol: 'TCP', targetPort: port['port'] });
  setDefaults(ensureObject(service, 'status'), { loadBalancer: {} });
}

export function defaultDisk(disk: ApiObject): void {
  setDefaults(ensureObject(disk, 'spec'), { volumeMode: 'Filesystem' });
  setDefaults(ensureObject(disk, 'status'), { phase: 'Pending' });
}

export function defaultNamespace(namespace: ApiObject): void {
  const { metadata } = namespace;
  metadata.labels = { 'kubernetes.io/metadata.name': metadata.name ?? '', ...metadata.labels };
  setDefaults(ensureObject(namespace, 'spec'), { finalizers: ['kubernetes'] });
  setDefaults(ensureObject(namespace, 'status'), { phase: 'Active' });
}

export function defaultNetworkPolicy(policy: ApiObject): void {
  const spec = ensureObject(policy, 'spec');
  setDefaults(spec, { policyTypes: Array.isArray(spec['egress']) ? ['Ingress', 'Egress'] : ['Ingress'] });
}

/** Finalizer that keeps a PersistentVolumeClaim while pods use it. */
export const DISK_PROTECTION = 'kubernetes.io/pvc-protection';

/** Admission: protects every new PersistentVolumeClaim. */
export function protectDisk(disk: ApiObject): void {
  const { finalizers = [] } = disk.metadata;
  if (!finalizers.includes(DISK_PROTECTION)) disk.metadata.finalizers = [...finalizers, DISK_PROTECTION];
}
