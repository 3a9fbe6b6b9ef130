/** Every label of Sandlot (docs/reference/labels-and-annotations.md#labels). */
export const labels = {
  /** NameHash of the Sandbox name, on Pod, Service and PVC. */
  nameHash: 'agents.x-k8s.io/sandbox-name-hash',
  /** NameHash of the pool while it owns the Sandbox; removed at adoption. */
  warmPoolMember: 'agents.x-k8s.io/warm-pool-sandbox',
  /** NameHash of the template; kept after adoption. */
  templateRefHash: 'agents.x-k8s.io/sandbox-template-ref-hash',
  /** Blueprint hash; removed at adoption. */
  templateHash: 'agents.x-k8s.io/sandbox-template-hash',
  /** Deprecated twin of `templateHash`, still stamped on members. */
  podTemplateHash: 'agents.x-k8s.io/sandbox-pod-template-hash',
  launchType: 'agents.x-k8s.io/launch-type',
  createdBy: 'agents.x-k8s.io/created-by',
  claimUid: 'agents.x-k8s.io/claim-uid',
  /** `"true"` lets a Sandbox take over an unowned Pod, Service or PVC. */
  adoptable: 'agents.x-k8s.io/adoptable',
  claimName: 'sandlot.dev/claim-name',
  claimSlot: 'sandlot.dev/claim-slot',
  /** NameHash of the pool a Sandbox was adopted from. */
  warmPool: 'sandlot.dev/warm-pool',
  reservedFailed: 'sandlot.dev/reserved-failed',
  /** On a Secret whose keys claims of its namespace may read. */
  claimEnv: 'sandlot.dev/claim-env',
  /** On a Secret whose values the egress proxy may send, to the hosts that its annotation lists. */
  egressCredential: 'sandlot.dev/egress-credential',
  /** On a Secret of the vault or of a webhook: the namespace whose clients created it. */
  tenant: 'sandlot.dev/tenant',
  /** On a Secret of the vault: the id of the secret, by which the API finds it. */
  vaultSecret: 'sandlot.dev/vault-secret',
  /** On the Secret of a webhook, always `true`. */
  webhook: 'sandlot.dev/webhook',
  /** On a PersistentVolume: the namespace whose SandboxClaims may mount it. */
  claimableBy: 'sandlot.dev/claimable-by',
  /** On a claim that the API made: the sandbox id, which is also the claim's name. On a SandboxSnapshot: of what it saves. */
  sandboxId: 'sandlot.dev/sandbox-id',
  /** On a SandboxSnapshot that a client of the API asked for: `snapshot`, or `fork` while forks are made from it. */
  e2bSnapshot: 'sandlot.dev/e2b-snapshot',
  /** On a Sandbox and its Pod, always `own`: egress rules of its own replace those of the template. */
  network: 'sandlot.dev/network',
  /** On a Sandbox and its Pod, always `steered`: it asks the egress resolver for names. */
  egress: 'sandlot.dev/egress',
  /** On a NetworkPolicy that the warmpool-controller keeps: whose Pods it is for, one of {@link protections}. */
  protects: 'sandlot.dev/protects',
  /** On the Secret of an API key. */
  apiKey: 'sandlot.dev/api-key',
  /** On a Pod that is to be restored: UID of the SandboxSnapshot. The snapshot-controller selects Pods by it. */
  restoreSnapshot: 'sandlot.dev/restore-snapshot',
  /** On a Pod, one of {@link memoryStates}: whether evictions wait until its memory is saved. Also on the budget that makes them wait. */
  memory: 'sandlot.dev/memory',
  /** On the golden Sandbox of a template and its snapshot: NameHash of the template. */
  golden: 'sandlot.dev/golden',
  /** On a SandboxTemplate that a build made: the kind of object that made it. */
  builtBy: 'sandlot.dev/built-by',
  /** On a SandboxTemplate that a build made, and on the sandbox in which its steps run: UID of the SandboxTemplateBuild. */
  templateBuild: 'sandlot.dev/template-build',
  /** On a SandboxTemplate and a SandboxTemplateBuild that the API asked for, and on a claim: id of the template for clients of E2B. */
  templateId: 'sandlot.dev/template-id',
  /** On a SandboxTemplate that the API had built, always `true`: other namespaces may start sandboxes of a copy. */
  public: 'sandlot.dev/public',
  /** On a Secret, always `true`: builds of its namespace may use it as credentials for a registry. */
  registryCredentials: 'sandlot.dev/registry-credentials',
  /** On a Node: hash of what it has in common with the nodes whose snapshots it can restore. */
  snapshotFingerprint: 'sandlot.dev/snapshot-fingerprint',
} as const;

/** Every annotation of Sandlot (docs/reference/labels-and-annotations.md#annotations). */
export const annotations = {
  /** Pod of a Sandbox; present before Ready is visible. */
  podName: 'agents.x-k8s.io/pod-name',
  /** Template name of cold starts and members. */
  templateRef: 'agents.x-k8s.io/sandbox-template-ref',
  /** Sandbox assigned to a claim, written behind; as a label it is legacy. */
  sandboxName: 'agents.x-k8s.io/sandbox-name',
  propagatedLabels: 'agents.x-k8s.io/propagated-labels',
  propagatedAnnotations: 'agents.x-k8s.io/propagated-annotations',
  controllerFirstObservedAt: 'agents.x-k8s.io/controller-first-observed-at',
  claimFirstReadyAt: 'agents.x-k8s.io/claim-first-ready-at',
  clientFirstRequestedAt: 'agents.x-k8s.io/client-first-requested-at',
  webhookFirstObservedAt: 'agents.x-k8s.io/webhook-first-observed-at',
  creationLatencyRecorded: 'agents.x-k8s.io/creation-latency-recorded',
  traceContext: 'opentelemetry.io/trace-context',
  safeToEvict: 'cluster-autoscaler.kubernetes.io/safe-to-evict',
  /** The full claim name, where the label of the same key has a cut one. */
  claimName: 'sandlot.dev/claim-name',
  lastActivityAt: 'sandlot.dev/last-activity-at',
  suspendedBy: 'sandlot.dev/suspended-by',
  /** On a SandboxTemplate that a build made: name of the SandboxTemplateBuild. */
  buildName: 'sandlot.dev/build-name',
  /** On a SandboxTemplate that the API had built, and on a claim that starts from it: the name that clients gave it. */
  templateName: 'sandlot.dev/template-name',
  /** Volumes of the E2B API that the sandbox mounts: JSON, a list of {id, name, path}. */
  volumeMounts: 'sandlot.dev/volume-mounts',
  /** On such a SandboxTemplate: the tag that leads to it. */
  templateTag: 'sandlot.dev/template-tag',
  /** On such a SandboxTemplate: when a client gave the tag to a build that was there, RFC 3339. */
  taggedAt: 'sandlot.dev/tagged-at',
  /** On a SandboxTemplateBuild: the template that it starts from, as the client wrote it. */
  fromTemplate: 'sandlot.dev/from-template',
  /** On a Sandbox: what the API is doing with it, which no other request may disturb, and until when that counts. */
  transition: 'sandlot.dev/transition',
  /** On a Sandbox: the generation of the pause at which its daemon did not answer. */
  unresponsiveDaemon: 'sandlot.dev/unresponsive-daemon',
  /** On a Sandbox: the generation of the pause that keeps its files alone. */
  pauseKeepsFiles: 'sandlot.dev/pause-keeps-files',
  /** On a Sandbox: UID of the SandboxSnapshot whose memory is not wanted any more, and whose files are. */
  unwantedMemory: 'sandlot.dev/unwanted-memory',
  /** On a Sandbox that `sandlot hibernations refresh` has woken: who had suspended it, as which the command suspends it again. */
  refresh: 'sandlot.dev/refresh',
  /** On a Sandbox, set by W1: the image that the first container of its live pod has to run. */
  inplaceImage: 'sandlot.dev/inplace-image',
  /** On a Pod: the container that ran when the image changed; a later one runs the new image. */
  inplaceImageFrom: 'sandlot.dev/inplace-image-from',
  /** On a Sandbox, set by W1: the CPU that the first container of its live pod has to get. On a Pod: the CPU that was asked for. */
  inplaceCpu: 'sandlot.dev/inplace-cpu',
  /** On a claim that the API made: the user's metadata, a JSON map of strings. */
  metadata: 'sandlot.dev/metadata',
  /** On a claim: `pause` suspends its Sandbox at `endAt`; with any other value `shutdownTime` ends it. */
  onTimeout: 'sandlot.dev/on-timeout',
  /** On a claim: `false` has the pause at `endAt` keep files, and no memory. */
  autoPauseMemory: 'sandlot.dev/auto-pause-memory',
  /** On a claim: when its time ends, RFC 3339. */
  endAt: 'sandlot.dev/end-at',
  /** On a claim: its timeout in seconds at its last start, which a wake grants again. */
  timeoutSeconds: 'sandlot.dev/timeout-seconds',
  /** On a claim: how long it is kept while paused, a duration or `forever`. */
  pausedRetention: 'sandlot.dev/paused-retention',
  /** On a claim: `true` lets any request to the sandbox wake it. */
  autoResume: 'sandlot.dev/auto-resume',
  /** On a claim or SandboxSnapshot: when the API received the create, RFC 3339 with milliseconds. It orders lists within a second. */
  createdAt: 'sandlot.dev/created-at',
  /** On the claim of a fork: the pool or template of the sandbox that it was forked from, which answers show. */
  forkedTemplate: 'sandlot.dev/forked-template',
  /** On a SandboxSnapshot that a client of the API named, and on a claim that starts from it: the name, without team and tag. */
  snapshotName: 'sandlot.dev/snapshot-name',
  /** On the same: the tag. */
  snapshotTag: 'sandlot.dev/snapshot-tag',
  /** On a claim or SandboxSnapshot: the id of the API key that created it. */
  apiKeyId: 'sandlot.dev/api-key-id',
  /** On a claim that an API key made: how many Sandboxes the key may have at a time. Absent: any number. */
  apiKeySandboxes: 'sandlot.dev/api-key-sandboxes',
  /** On a claim whose ports are not public: hex SHA-256 of the token that opens them. */
  trafficTokenHash: 'sandlot.dev/traffic-token-sha256',
  /** On a claim whose ports are not public: generation and public key of its previews. */
  previewKey: 'sandlot.dev/preview-key',
  /** On a claim that the API made: the number of the key by which its tokens are made. Absent: 1. */
  tokenKey: 'sandlot.dev/token-key',
  /** On a claim with an idempotency key, and on a SandboxTemplateBuild that was started: the digest of its request. */
  requestDigest: 'sandlot.dev/request-digest',
  /** On a claim: how it narrows the egress of its template, as JSON. */
  network: 'sandlot.dev/network',
  /** On a Sandbox: the NetworkPolicy without which no Pod of it starts. Absent for templates that are Unmanaged. */
  networkPolicy: 'sandlot.dev/network-policy',
  /** On a claim: the value of `network` that is in force, once it has changed. */
  networkApplied: 'sandlot.dev/network-applied',
  /** On a Secret that the egress proxy may use: the hosts to which its values may go, separated by commas. */
  egressHosts: 'sandlot.dev/egress-hosts',
  /** On a Secret of the vault: its name, its version and what a client noted about it, as JSON. */
  vaultSecret: 'sandlot.dev/vault-secret',
  /** On a Secret of variables or headers that the API stored: the claim they are for, as `namespace/name`. */
  storedFor: 'sandlot.dev/stored-for',
  /** On the NetworkPolicy of a template: the UID of the template that its rules come from. */
  templateUid: 'sandlot.dev/template-uid',
  /** On the NetworkPolicy of a template whose Sandboxes reach names: what the template says of them, as JSON. */
  egress: 'sandlot.dev/egress',
  /** On a pool or template: more names by which the API finds it, separated by commas. */
  aliases: 'sandlot.dev/aliases',
  /** On a Pod that is to be restored: UID of the SandboxSnapshot. It reaches gVisor's shim, which labels do not. */
  restoreSnapshot: 'sandlot.dev/restore-snapshot',
  /** On such a Pod, always {@link ONLY_FILES}: it boots with the files of the snapshot, and does not get its memory. */
  restoreOnly: 'sandlot.dev/restore-only',
  /** On such a Pod: the trace of the resume. The SandboxSnapshot carries that of its save. */
  restoreTrace: 'sandlot.dev/restore-trace',
  /**
   * On a Sandbox with `restoreFrom`: the UID of the copy that it starts from, then {@link START_DONE}; or {@link NO_START_MEMORY},
   * a colon and the reason. It starts once.
   */
  startMemory: 'sandlot.dev/start-memory',
  /** On a Pod with the label `sandlot.dev/memory: unsaved`: why its memory could not be saved. */
  saveProblem: 'sandlot.dev/save-problem',
  /** On a SandboxSnapshot: digest of the Pod template; in a Pod of another one the memory is useless. */
  savedTemplate: 'sandlot.dev/saved-template',
  /** On a SandboxSnapshot: the image of the daemon that the saved Pod mounts, which its successor mounts too. */
  savedRuntimeImage: 'sandlot.dev/saved-runtime-image',
  /** On a SandboxSnapshot that is a copy: UID of the one whose data it has. On the copy of a public SandboxTemplate: its namespace. */
  copiedFrom: 'sandlot.dev/copied-from',
  /** On the copy of a disk: when the memory was saved with which it belongs, as the node said. */
  savedAt: 'sandlot.dev/saved-at',
  /** On a SandboxSnapshotClass: `true` for the one that snapshots without a class use. */
  isDefaultClass: 'sandlot.dev/is-default-class',
} as const;

/** Every finalizer of Sandlot. */
export const finalizers = {
  /** On a SandboxSnapshot: a node may still have its data. */
  snapshotData: 'sandlot.dev/snapshot-data',
} as const;

/** How the annotation `sandlot.dev/start-memory` begins once the start from a snapshot has failed for good. */
export const NO_START_MEMORY = 'failed';
/** Value of the annotation `sandlot.dev/start-memory` once the Sandbox has started from the snapshot. */
export const START_DONE = 'restored';

/** The value of {@link annotations.restoreOnly}. */
export const ONLY_FILES = 'files' as const;

/** Values of the label `sandlot.dev/protects`. */
export const protections = { template: 'template', authored: 'authored-sandboxes' } as const;

/**
 * Values of the label `sandlot.dev/memory`. `protected`: evictions of the Pod wait. `unsaved`: its memory could not be saved
 * while its Node is being emptied, so they no longer do.
 */
export const memoryStates = { protected: 'protected', unsaved: 'unsaved' } as const;
export type MemoryState = (typeof memoryStates)[keyof typeof memoryStates];

/** Values of the label `agents.x-k8s.io/launch-type`. */
export const launchTypes = { warm: 'warm', cold: 'cold' } as const;
export type LaunchType = (typeof launchTypes)[keyof typeof launchTypes];

const CREATORS: readonly string[] = ['go-client', 'python-client', 'controller'];

/** The label `agents.x-k8s.io/created-by` as Pods and metrics carry it: a known value or `unknown`. */
export function normaliseCreator(value: string | undefined): string {
  return value !== undefined && CREATORS.includes(value) ? value : 'unknown';
}

const RESERVED_PREFIXES = ['agents.x-k8s.io/', 'extensions.agents.x-k8s.io/', 'sandlot.dev/'];

/**
 * Whether a key of user-supplied Pod metadata belongs to the system and is silently skipped
 * (docs/reference/labels-and-annotations.md#labels).
 */
export function isReservedKey(key: string): boolean {
  return key === annotations.traceContext || RESERVED_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** A map without its reserved keys. */
export function withoutReservedKeys(map: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isReservedKey(key)));
}
