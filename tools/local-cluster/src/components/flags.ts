/** Command lines of the control plane, for tests and for clusters. Paths of etcd are relative to the working folder. */
import { join } from 'node:path';

/** Range of ClusterIPs. The API server has the first address. */
const serviceCidr = '10.96.0.0/16';

/** ClusterIP of the API server. */
export const apiServiceIp = '10.96.0.1';

// etcd requires HOST:PORT even for a unix socket, and uses it as the socket's file name in its working folder. A socket
// needs no free port and no certificates: the folder's permissions control access.
const etcdClient = 'unix://client:1';
const etcdPeer = 'unix://peer:1';

// The defaults (20 and 50 requests per second) would be the bottleneck of every load test.
const clientRates = ['--kube-api-qps=1000', '--kube-api-burst=2000'];

/** Flags of etcd in the working folder. Without fsync, data survives a crash of the process but not of the machine. */
export function listEtcdFlags(): string[] {
  return [
    'etcd',
    '--name=sandlot',
    '--data-dir=etcd',
    `--listen-client-urls=${etcdClient}`,
    `--advertise-client-urls=${etcdClient}`,
    `--listen-peer-urls=${etcdPeer}`,
    `--initial-advertise-peer-urls=${etcdPeer}`,
    `--initial-cluster=sandlot=${etcdPeer}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    '--auto-compaction-retention=10m',
    '--quota-backend-bytes=4294967296',
  ];
}

/** The settings in which API servers differ. */
export interface ApiServerFlags {
  pkiDir: string;
  port: number;
  bindAddress: string;
  audit?: { policyFile: string; logFile: string } | undefined;
  /** Set to false if no controller creates service accounts: admission would then reject every pod. */
  serviceAccountAdmission: boolean;
  extra?: readonly string[] | undefined;
}

/** Flags of kube-apiserver with client certificates and RBAC. It uses the etcd in the same working folder. */
export function listApiServerFlags(options: ApiServerFlags): string[] {
  const pki = (file: string) => join(options.pkiDir, file);
  return [
    'kube-apiserver',
    `--etcd-servers=${etcdClient}`,
    `--bind-address=${options.bindAddress}`,
    `--secure-port=${options.port}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    `--client-ca-file=${pki('ca.crt')}`,
    '--authorization-mode=Node,RBAC',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${pki('service-account.pub')}`,
    `--service-account-signing-key-file=${pki('service-account.key')}`,
    `--service-cluster-ip-range=${serviceCidr}`,
    '--profiling=false',
    '--shutdown-delay-duration=0s',
    ...(options.serviceAccountAdmission ? [] : ['--disable-admission-plugins=ServiceAccount']),
    ...(options.audit === undefined ? [] : listAuditFlags(options.audit)),
    ...(options.extra ?? []),
  ];
}

function listAuditFlags(audit: { policyFile: string; logFile: string }): string[] {
  return [
    `--audit-policy-file=${audit.policyFile}`,
    `--audit-log-path=${audit.logFile}`,
    '--audit-log-maxsize=100',
    // Enough for all end-to-end tests, which end with a look at everything that services asked for.
    '--audit-log-maxbackup=9',
  ];
}

/** Logs one line per finished request, without bodies. */
export const auditPolicy = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted', 'Panic'],
  rules: [{ level: 'Metadata' }],
});

/** How controller-manager and scheduler reach the API server, and where they serve health checks. Port 0 serves nothing. */
export interface ClientComponentFlags {
  kubeconfig: string;
  pkiDir: string;
  securePort: number;
  extra?: readonly string[] | undefined;
}

/** Flags of kube-controller-manager. It is the only replica, so leader election is off. */
export function listControllerManagerFlags(options: ClientComponentFlags): string[] {
  return [
    'kube-controller-manager',
    ...listClientComponentFlags(options),
    '--use-service-account-credentials',
    `--service-account-private-key-file=${join(options.pkiDir, 'service-account.key')}`,
    `--root-ca-file=${join(options.pkiDir, 'ca.crt')}`,
    ...(options.extra ?? []),
  ];
}

/** Flags of kube-scheduler. It is the only replica, so leader election is off. */
export function listSchedulerFlags(options: ClientComponentFlags): string[] {
  return ['kube-scheduler', ...listClientComponentFlags(options), ...(options.extra ?? [])];
}

function listClientComponentFlags(options: ClientComponentFlags): string[] {
  return [
    `--kubeconfig=${options.kubeconfig}`,
    `--authentication-kubeconfig=${options.kubeconfig}`,
    `--authorization-kubeconfig=${options.kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
    `--secure-port=${options.securePort}`,
    ...clientRates,
  ];
}

/**
 * Configuration of kwok: its stages and its parallelism. The default of 4 pods would be the bottleneck of every burst. All
 * four fields are set because kwok fills in no defaults once `options` is present.
 */
export function buildKwokConfiguration(stages: string): string {
  const options = {
    podPlayStageParallelism: 64,
    nodePlayStageParallelism: 4,
    nodeLeaseParallelism: 4,
    podsOnNodeSyncParallelism: 4,
  };
  const own = { apiVersion: 'config.kwok.x-k8s.io/v1alpha1', kind: 'KwokConfiguration', options };
  return `${stages}\n---\n${JSON.stringify(own)}\n`;
}

/** Flags of kwok. It manages only nodes that carry its annotation. */
export function listKwokFlags(options: { kubeconfig: string; stagesFile: string }): string[] {
  return [
    `--kubeconfig=${options.kubeconfig}`,
    `--config=${options.stagesFile}`,
    '--manage-all-nodes=false',
    '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
    '--node-lease-duration-seconds=40',
    '--cidr=10.244.0.0/16',
  ];
}
