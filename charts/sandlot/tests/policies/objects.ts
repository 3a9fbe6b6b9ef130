import type { Draft } from './stage.ts';

export const PLACE = 'team-a';
export const HASH = 'agents.x-k8s.io/sandbox-name-hash';
export const CLAIM_UID = 'agents.x-k8s.io/claim-uid';
export const MEMBER = 'agents.x-k8s.io/warm-pool-sandbox';

export type Metadata = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

const POD = { containers: [{ name: 'main', image: 'busybox' }] };
const DISK = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const SERVICE = { clusterIP: 'None', selector: { [HASH]: 'x' } };
const NETWORK = { podSelector: { matchLabels: { 'agents.x-k8s.io/sandbox-template-ref-hash': 'x' } } };

/** Specs that the rules on specs let pass. */
const SPECS: Readonly<Record<Draft['kind'], Fields>> = {
  Sandbox: { podTemplate: { spec: POD } },
  SandboxTemplate: { podTemplate: { spec: POD } },
  SandboxClaim: { warmPoolRef: { name: 'pool' } },
  SandboxSnapshot: { sandboxName: 'box' },
  SandboxWarmPool: { replicas: 0, sandboxTemplateRef: { name: 'template' } },
  Pod: POD,
  Service: SERVICE,
  PersistentVolumeClaim: DISK,
  NetworkPolicy: NETWORK,
  Secret: {},
  PodDisruptionBudget: { minAvailable: 1, selector: { matchLabels: { 'sandlot.dev/memory': 'protected' } } },
};

/** An object with this metadata beside its name, and fields of the spec beside those it needs. */
export function object(kind: Draft['kind'], metadata: Metadata, spec: Fields = {}): Draft {
  return { kind, metadata: { name: 'box', namespace: PLACE, ...metadata }, spec: { ...SPECS[kind], ...spec } };
}

/** An owner reference of the controller. Without the UID of a real object the garbage collector deletes what has it. */
export function ownedBy(kind: string, uid = `uid-of-a-${kind}`): Metadata {
  const group = kind === 'Sandbox' ? 'agents.x-k8s.io' : 'extensions.agents.x-k8s.io';
  return { ownerReferences: [{ apiVersion: `${group}/v1beta1`, kind, name: 'owner', uid, controller: true }] };
}
