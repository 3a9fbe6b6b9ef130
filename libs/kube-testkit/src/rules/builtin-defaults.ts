import type { ApiObject, OpenRecord } from '../storage/api-object.ts';
import { isRecord, recordAt } from '../storage/api-object.ts';

/**
 * The defaults of the real server that controllers meet when they compare what they wrote with what they read.
 * Each fills in only what is absent.
 */

function fill(target: OpenRecord, defaults: OpenRecord): void {
  for (const [member, value] of Object.entries(defaults)) target[member] ??= value;
}

/** Ensures a member is an object and returns it for filling. */
function part(target: OpenRecord, member: string): OpenRecord {
  const value = recordAt(target, member);
  target[member] = value;
  return value;
}

function recordsIn(value: unknown): OpenRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function defaultPod(pod: ApiObject): void {
  const spec = part(pod, 'spec');
  fill(spec, {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  for (const container of [...recordsIn(spec['containers']), ...recordsIn(spec['initContainers'])]) {
    defaultContainer(container);
  }
  fill(part(pod, 'status'), { phase: 'Pending', qosClass: 'BestEffort' });
}

function defaultContainer(container: OpenRecord): void {
  const image = typeof container['image'] === 'string' ? container['image'] : '';
  const latest = !/[:@][^/]*$/.test(image) || image.endsWith(':latest');
  fill(container, {
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: latest ? 'Always' : 'IfNotPresent',
  });
  for (const port of recordsIn(container['ports'])) fill(port, { protocol: 'TCP' });
}

export function defaultService(service: ApiObject): void {
  const spec = part(service, 'spec');
  fill(spec, {
    type: 'ClusterIP',
    sessionAffinity: 'None',
    internalTrafficPolicy: 'Cluster',
    ipFamilyPolicy: 'SingleStack',
    ipFamilies: ['IPv4'],
    clusterIP: '10.96.0.100',
  });
  fill(spec, { clusterIPs: [spec['clusterIP']] });
  for (const port of recordsIn(spec['ports'])) fill(port, { protocol: 'TCP', targetPort: port['port'] });
  fill(part(service, 'status'), { loadBalancer: {} });
}

export function defaultClaim(claim: ApiObject): void {
  fill(part(claim, 'spec'), { volumeMode: 'Filesystem' });
  fill(part(claim, 'status'), { phase: 'Pending' });
}

export function defaultNamespace(namespace: ApiObject): void {
  const { metadata } = namespace;
  metadata.labels = { 'kubernetes.io/metadata.name': metadata.name ?? '', ...metadata.labels };
  fill(part(namespace, 'spec'), { finalizers: ['kubernetes'] });
  fill(part(namespace, 'status'), { phase: 'Active' });
}

export function defaultNetworkPolicy(policy: ApiObject): void {
  const spec = part(policy, 'spec');
  fill(spec, { policyTypes: Array.isArray(spec['egress']) ? ['Ingress', 'Egress'] : ['Ingress'] });
}

/** Keeps a claim while pods use it. */
export const CLAIM_PROTECTION = 'kubernetes.io/pvc-protection';

/** Admission: every new claim is protected. */
export function protectClaim(claim: ApiObject): void {
  const { finalizers = [] } = claim.metadata;
  if (!finalizers.includes(CLAIM_PROTECTION)) claim.metadata.finalizers = [...finalizers, CLAIM_PROTECTION];
}
