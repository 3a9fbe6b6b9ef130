import { GROUP } from '../manifests.ts';

type Fields = Readonly<Record<string, unknown>>;

const KINDS = {
  Sandbox: { group: 'agents.x-k8s.io/v1beta1', plural: 'sandboxes' },
  SandboxTemplate: { group: `${GROUP}/v1beta1`, plural: 'sandboxtemplates' },
  SandboxClaim: { group: `${GROUP}/v1beta1`, plural: 'sandboxclaims' },
  SandboxWarmPool: { group: `${GROUP}/v1beta1`, plural: 'sandboxwarmpools' },
  Pod: { group: 'v1', plural: 'pods' },
  NetworkPolicy: { group: 'networking.k8s.io/v1', plural: 'networkpolicies' },
  SandboxSnapshot: { group: 'sandlot.dev/v1alpha1', plural: 'sandboxsnapshots' },
} as const;

export type Kind = keyof typeof KINDS;

/** An object to create. */
export interface Draft {
  readonly kind: Kind;
  readonly metadata: Fields;
  readonly spec: Fields;
}

const POD = { automountServiceAccountToken: false, containers: [{ name: 'box', image: 'busybox' }] };
const DISK = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };

const SPECS: Readonly<Record<Kind, Fields>> = {
  Sandbox: { podTemplate: { spec: POD } },
  SandboxTemplate: { podTemplate: { spec: POD } },
  SandboxClaim: { warmPoolRef: { name: 'base' } },
  SandboxWarmPool: { sandboxTemplateRef: { name: 'base' } },
  Pod: POD,
  NetworkPolicy: { podSelector: { matchLabels: { app: 'own' } }, policyTypes: ['Ingress'] },
  SandboxSnapshot: { sandboxName: 'own' },
};

/** Path of the objects of a kind, or of one of them. */
export function buildPath(kind: Kind, namespace: string, name?: string): string {
  const { group, plural } = KINDS[kind];
  const root = group === 'v1' ? '/api/v1' : `/apis/${group}`;
  return `${root}/namespaces/${namespace}/${plural}${name === undefined ? '' : `/${name}`}`;
}

/** The object of a draft under this name. */
export function complete({ kind, metadata, spec }: Draft, name: string): object {
  return { apiVersion: KINDS[kind].group, kind, metadata: { ...metadata, name }, spec };
}

export function draft(kind: Kind, metadata: Fields = {}, spec: Fields = {}): Draft {
  return { kind, metadata, spec: { ...SPECS[kind], ...spec } };
}

/** Something that a tenant may not have, and the thing most like it that it may have. */
export interface Forgery {
  readonly what: string;
  /** The rule of docs/security/admission-policies.md that refuses it. */
  readonly rule: string;
  readonly refused: readonly Draft[];
  readonly allowed: readonly Draft[];
}

/** A Sandbox and a template with these fields in their Pod. */
function withPod(fields: Fields): Draft[] {
  const podTemplate = { spec: { ...POD, ...fields } };
  return [draft('Sandbox', {}, { podTemplate }), draft('SandboxTemplate', {}, { podTemplate })];
}

const onContainer = (fields: Fields): Draft[] =>
  withPod({ containers: [{ name: 'box', image: 'busybox', ...fields }] });
const withVolume = (source: Fields): Draft[] => withPod({ volumes: [{ name: 'v', ...source }] });

/** A Sandbox, a template and a claim with a disk. */
function withDisk(spec: Fields): Draft[] {
  const volumeClaimTemplates = [{ metadata: { name: 'd' }, spec: { ...DISK, ...spec } }];
  return (['Sandbox', 'SandboxTemplate', 'SandboxClaim'] as const).map((kind) =>
    draft(kind, {}, { volumeClaimTemplates }),
  );
}

/** A Sandbox, a template and a claim that annotate their Pod. */
function withPodAnnotation(key: string): Draft[] {
  const annotations = { [key]: 'x' };
  const podTemplate = { metadata: { annotations }, spec: POD };
  return [
    draft('Sandbox', {}, { podTemplate }),
    draft('SandboxTemplate', {}, { podTemplate }),
    draft('SandboxClaim', {}, { additionalPodMetadata: { annotations } }),
  ];
}

const theirDisk = { kind: 'PersistentVolumeClaim', name: 'theirs' };

/** What would give a sandbox the node, an identity, or a thing of someone else. */
export const escapes: readonly Forgery[] = [
  { what: 'the network of the node', rule: 'host', refused: withPod({ hostNetwork: true }), allowed: withPod({}) },
  { what: 'the processes of the node', rule: 'host', refused: withPod({ hostPID: true }), allowed: withPod({}) },
  { what: 'the memory of the node', rule: 'host', refused: withPod({ hostIPC: true }), allowed: withPod({}) },
  {
    what: 'a port of the node',
    rule: 'host',
    refused: onContainer({ ports: [{ containerPort: 80, hostPort: 8080 }] }),
    allowed: onContainer({ ports: [{ containerPort: 80 }] }),
  },
  {
    what: 'a probe that calls the metadata service',
    rule: 'host',
    refused: onContainer({ livenessProbe: { httpGet: { host: '169.254.169.254', port: 80 } } }),
    allowed: onContainer({ livenessProbe: { httpGet: { port: 80 } } }),
  },
  {
    what: 'a folder of the node',
    rule: 'volumes',
    refused: withVolume({ hostPath: { path: '/' } }),
    allowed: withVolume({ emptyDir: {} }),
  },
  {
    what: 'privilege',
    rule: 'privilege',
    refused: onContainer({ securityContext: { privileged: true } }),
    allowed: onContainer({ securityContext: { runAsUser: 0 } }),
  },
  {
    what: 'a capability over the machine',
    rule: 'privilege',
    refused: onContainer({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }),
    allowed: onContainer({ securityContext: { capabilities: { drop: ['ALL'] } } }),
  },
  {
    what: 'a token of its ServiceAccount',
    rule: 'tokens',
    refused: withPod({ automountServiceAccountToken: true }),
    allowed: withPod({ automountServiceAccountToken: false }),
  },
  {
    what: 'a projected token',
    rule: 'tokens',
    refused: withVolume({ projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'vault' } }] } }),
    allowed: withVolume({ projected: { sources: [{ configMap: { name: 'own' } }] } }),
  },
  {
    what: 'the control plane’s nodes',
    rule: 'nodes',
    refused: withPod({ tolerations: [{ operator: 'Exists' }] }),
    allowed: withPod({ tolerations: [{ key: 'dedicated', operator: 'Exists' }] }),
  },
  {
    what: 'the volume of someone else',
    rule: 'disks',
    refused: withDisk({ volumeName: 'theirs' }),
    allowed: withDisk({}),
  },
  {
    what: 'a copy of a disk of someone else',
    rule: 'disks',
    refused: [...withDisk({ dataSource: theirDisk }), ...withDisk({ dataSourceRef: { ...theirDisk, namespace: 'a' } })],
    allowed: withDisk({}),
  },
  ...['k8s.v1.cni.cncf.io/networks', 'cni.projectcalico.org/ipAddrs', 'iam.amazonaws.com/role'].map((key) => ({
    what: `the annotation ${key}`,
    rule: 'metadata',
    refused: withPodAnnotation(key),
    allowed: withPodAnnotation('note'),
  })),
];

/** What only those may have who could create such a Pod themselves. */
export function buildReaches(account: string): readonly Omit<Forgery, 'allowed'>[] {
  const variable = { name: 'K', valueFrom: { secretKeyRef: { name: 'own', key: 'k' } } };
  return [
    { what: 'another ServiceAccount', rule: 'accounts', refused: withPod({ serviceAccountName: account }) },
    { what: 'a Secret as a volume', rule: 'references', refused: withVolume({ secret: { secretName: 'own' } }) },
    { what: 'a Secret as a variable', rule: 'references', refused: onContainer({ env: [variable] }) },
  ];
}

/** The objects of the other tenant that a forgery refers to. */
export interface Victim {
  readonly claimName: string;
  readonly claimUid: string;
}

const label = (key: string, value = 'x'): Fields => ({ labels: { [key]: value } });
const note = (key: string, value = 'x'): Fields => ({ annotations: { [key]: value } });

const ownedByClaim = ({ claimName: name, claimUid: uid }: Victim): Fields => ({
  ownerReferences: [{ apiVersion: `${GROUP}/v1beta1`, kind: 'SandboxClaim', name, uid, controller: true }],
});

/** Names of {@link buildMarks}, for a table of tests. */
export const markNames = [
  'a Sandbox in the claim of the other tenant',
  'a Sandbox that the other tenant’s claim owns',
  'a Sandbox that seems to be a member of a pool',
  'a claim with the id of the other tenant’s sandbox',
  'a claim on the other tenant’s API key',
  'a claim with a traffic token of its choice',
  'a claim with the Sandbox of someone else',
  'a Pod under the network rules of a template',
  'a NetworkPolicy that a template seems to own',
] as const;

/** Marks of the services that would give the forger what is not theirs, by name. */
export function buildMarks(victim: Victim): Readonly<Record<(typeof markNames)[number], Draft>> {
  return {
    'a Sandbox in the claim of the other tenant': draft('Sandbox', label('agents.x-k8s.io/claim-uid', victim.claimUid)),
    'a Sandbox that the other tenant’s claim owns': draft('Sandbox', ownedByClaim(victim)),
    'a Sandbox that seems to be a member of a pool': draft('Sandbox', label('agents.x-k8s.io/warm-pool-sandbox')),
    'a claim with the id of the other tenant’s sandbox': draft(
      'SandboxClaim',
      label('sandlot.dev/sandbox-id', victim.claimName),
    ),
    'a claim on the other tenant’s API key': draft('SandboxClaim', note('sandlot.dev/api-key-id')),
    'a claim with a traffic token of its choice': draft('SandboxClaim', note('sandlot.dev/traffic-token-sha256')),
    'a claim with the Sandbox of someone else': draft('SandboxClaim', note('agents.x-k8s.io/sandbox-name')),
    'a Pod under the network rules of a template': draft('Pod', label('agents.x-k8s.io/sandbox-template-ref-hash')),
    'a NetworkPolicy that a template seems to own': draft('NetworkPolicy', {
      ownerReferences: [
        { apiVersion: `${GROUP}/v1beta1`, kind: 'SandboxTemplate', name: 'base', uid: victim.claimUid },
      ],
    }),
  };
}

/** Labels, annotations and owners of its own, which a tenant may use freely. */
export function buildOwnMarks(kind: Kind): Draft {
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'own', uid: 'own' };
  return draft(kind, { ...label('team', 'b'), ...note('note'), ownerReferences: [owner] });
}
