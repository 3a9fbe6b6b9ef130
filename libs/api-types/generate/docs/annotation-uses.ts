import type { annotations } from '../../src/index.ts';
import { CLAIM, SANDBOX, POOL, API, SNAPSHOT, RESTORE } from './uses.ts';
import type { Use } from './uses.ts';

export const annotationUses: Readonly<Record<keyof typeof annotations, Use>> = {
  podName: {
    on: 'Sandbox',
    by: `${SANDBOX}, or who makes the Sandbox`,
    meaning: 'Name of the Pod. Present before Ready is True; removed when the Pod is gone.',
  },
  templateRef: { on: 'Sandbox', by: `${POOL}, ${CLAIM}`, meaning: 'Name of the template it was made from.' },
  sandboxName: {
    on: 'SandboxClaim',
    by: CLAIM,
    meaning:
      'The Sandbox of the claim. There when the claim is first Ready while few claims arrive; written later in a burst. As a label it is legacy, and still read.',
  },
  propagatedLabels: {
    on: 'Pod',
    by: SANDBOX,
    meaning: 'Label keys that came from the Pod template, so that those which leave it can be removed.',
  },
  propagatedAnnotations: { on: 'Pod', by: SANDBOX, meaning: 'The same for annotations.' },
  controllerFirstObservedAt: {
    on: 'SandboxClaim',
    by: CLAIM,
    meaning: 'When the controller first saw the claim: RFC 3339 with nine fractional digits.',
  },
  claimFirstReadyAt: {
    on: 'SandboxClaim',
    by: CLAIM,
    meaning: 'When the claim was first Ready, or `unknown`. Keeps latencies from being counted twice.',
  },
  clientFirstRequestedAt: { on: 'SandboxClaim', by: 'clients', meaning: 'When the client asked. Read for metrics.' },
  webhookFirstObservedAt: {
    on: 'SandboxClaim',
    by: 'a webhook of the cluster',
    meaning: 'When a webhook first saw the claim. Read for metrics.',
  },
  creationLatencyRecorded: {
    on: 'SandboxClaim',
    by: 'older releases of agent-sandbox',
    meaning: 'Legacy form of `claim-first-ready-at`; honoured.',
  },
  traceContext: {
    on: 'SandboxClaim, Sandbox',
    by: `clients, ${CLAIM}`,
    meaning: 'W3C trace context as a JSON map. See [Traces](observability.md#traces).',
  },
  safeToEvict: {
    on: 'Pod template, Pod',
    by: POOL,
    meaning: '`true` on members unless the template sets it. Adoption removes `true` and keeps `false`.',
  },
  claimName: { on: 'Sandbox', by: CLAIM, meaning: 'Full name of a detached claim whose label had to be cut.' },
  lastActivityAt: { on: 'Sandbox', by: 'tools', meaning: 'Reports activity: RFC 3339.' },
  buildName: {
    on: 'SandboxTemplate',
    by: 'template-builder',
    meaning: 'Name of the SandboxTemplateBuild that made it',
  },
  volumeMounts: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'Volumes of the E2B API that the sandbox mounts: JSON, a list of `{id, name, path}`.',
  },
  templateName: {
    on: 'SandboxTemplate, SandboxClaim',
    by: `${API}, template-builder`,
    meaning: 'Name that clients of the API gave the template. On a claim: of the template it starts from.',
  },
  templateTag: {
    on: 'SandboxTemplate',
    by: `${API}, template-builder`,
    meaning: 'Tag that leads to it: `default`, or one that clients gave it.',
  },
  taggedAt: {
    on: 'SandboxTemplate',
    by: API,
    meaning: 'When a client gave the tag to a build that had ended: RFC 3339.',
  },
  fromTemplate: {
    on: 'SandboxTemplateBuild',
    by: API,
    meaning: 'The template that the build starts from, as the client wrote it.',
  },
  suspendedBy: {
    on: 'Sandbox',
    by: `${SANDBOX}, ${CLAIM}, ${API}`,
    meaning: 'Who suspended it: `Idle`, `Startup` or `API`. Removed after the resume.',
  },
  transition: {
    on: 'Sandbox',
    by: API,
    meaning:
      'What the API is doing with it: `snapshot`, `fork` or `resume`, an id, since when, and until when that counts if no replica ends it. Meanwhile the API refuses every other pause, snapshot and fork.',
  },
  unresponsiveDaemon: {
    on: 'Sandbox',
    by: API,
    meaning:
      'The generation of a pause before which the daemon did not answer. No request wakes the Sandbox from that pause.',
  },
  pauseKeepsFiles: {
    on: 'Sandbox',
    by: API,
    meaning: 'The generation of a pause that keeps files and no memory. Counts for that suspension alone.',
  },
  unwantedMemory: {
    on: 'Sandbox',
    by: API,
    meaning: 'UID of the SandboxSnapshot whose memory a client gave up: the next Pod boots with its files.',
  },
  refresh: {
    on: 'Sandbox',
    by: '`sandlot hibernations refresh`',
    meaning:
      'Who had suspended it before the command woke it: `User`, `Idle`, `Startup` or `API`. The command suspends it again and removes this; if it was killed, the next run does.',
  },
  inplaceImage: {
    on: 'Sandbox, Pod',
    by: `${CLAIM}, ${SANDBOX}`,
    meaning: 'Image for the first container of the Pod.',
  },
  inplaceImageFrom: {
    on: 'Pod',
    by: SANDBOX,
    meaning: 'How often the container had been started when its image was changed.',
  },
  inplaceCpu: {
    on: 'Sandbox, Pod',
    by: `${CLAIM}, ${SANDBOX}`,
    meaning: 'CPU for the first container of the Pod, as `request=1,limit=2`; on the Pod once the API server has it.',
  },
  metadata: { on: 'SandboxClaim', by: API, meaning: 'Metadata of a sandbox of the API: a JSON map of strings.' },
  onTimeout: {
    on: 'SandboxClaim',
    by: API,
    meaning: '`pause` suspends the Sandbox at `sandlot.dev/end-at`; otherwise `shutdownTime` ends the claim.',
  },
  autoPauseMemory: {
    on: 'SandboxClaim',
    by: API,
    meaning: '`false`: the pause at `sandlot.dev/end-at` keeps the files of the Sandbox, and no memory.',
  },
  endAt: { on: 'SandboxClaim', by: `${API}, ${CLAIM}`, meaning: 'When the time of the sandbox is over: RFC 3339.' },
  timeoutSeconds: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'Seconds given at the last start. A wake gives them again.',
  },
  pausedRetention: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'How long a paused sandbox is kept: a duration or `forever`.',
  },
  autoResume: { on: 'SandboxClaim', by: API, meaning: '`true` lets any request to the sandbox wake it.' },
  createdAt: {
    on: 'SandboxClaim, SandboxSnapshot',
    by: API,
    meaning: 'When the API was asked, with milliseconds. Orders lists.',
  },
  forkedTemplate: {
    on: 'SandboxClaim, SandboxSnapshot',
    by: API,
    meaning:
      'Of a fork: the pool or template of the sandbox it was forked from, which answers show. Of a snapshot: that of the sandbox, for events.',
  },
  snapshotName: {
    on: 'SandboxSnapshot, SandboxClaim',
    by: API,
    meaning: 'Name that a client of the API gave it. On a claim: name of the snapshot it starts from.',
  },
  snapshotTag: { on: 'SandboxSnapshot', by: API, meaning: 'Tag of that name.' },
  apiKeyId: { on: 'SandboxClaim, SandboxSnapshot', by: API, meaning: 'Id of the API key that made it.' },
  apiKeySandboxes: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'How many Sandboxes that API key may have at a time. Absent: any number.',
  },
  trafficTokenHash: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'SHA-256 of the token that opens the ports, in hex. Present when they are not public.',
  },
  previewKey: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'Generation and public key by which the gateway checks previews. Present when the ports are not public.',
  },
  tokenKey: {
    on: 'SandboxClaim',
    by: API,
    meaning: 'Number of the key by which its tokens are made. Absent: 1, the key that the installation began with.',
  },
  requestDigest: {
    on: 'SandboxClaim, SandboxTemplateBuild',
    by: API,
    meaning: 'Digest of the request, for creates with an idempotency key, and for builds that were started.',
  },
  egress: {
    on: 'NetworkPolicy',
    by: POOL,
    meaning: 'What the template says about egress by name, as JSON, for the egress proxy.',
  },
  network: {
    on: 'SandboxClaim',
    by: `${API}, users`,
    meaning: 'How the egress of the Sandbox is narrower than that of its template, as JSON.',
  },
  networkPolicy: {
    on: 'Sandbox',
    by: `${POOL}, ${CLAIM}`,
    meaning: 'The NetworkPolicy without which no Pod of the Sandbox starts. Absent if the template was Unmanaged.',
  },
  networkApplied: { on: 'SandboxClaim', by: CLAIM, meaning: 'The text of `sandlot.dev/network` that is in force.' },
  egressHosts: {
    on: 'Secret',
    by: 'users',
    meaning: 'The hosts to which the egress proxy may send its values, separated by commas.',
  },
  vaultSecret: {
    on: 'Secret',
    by: API,
    meaning: 'Id, name, version and metadata of a secret, and when it last changed, as JSON.',
  },
  storedFor: {
    on: 'Secret',
    by: API,
    meaning: 'The claim, `namespace/name`, whose variables or headers the Secret holds.',
  },
  templateUid: {
    on: 'NetworkPolicy',
    by: POOL,
    meaning: 'UID of the template that the rules come from, which may be gone.',
  },
  aliases: {
    on: 'SandboxWarmPool, SandboxTemplate',
    by: 'users',
    meaning: 'Other names by which the API finds it, separated by commas.',
  },
  restoreSnapshot: { on: 'Pod', by: SANDBOX, meaning: `${RESTORE} The shim of gVisor reads it.` },
  restoreOnly: {
    on: 'Pod',
    by: SANDBOX,
    meaning: '`files`: such a Pod boots with the files that the SandboxSnapshot has, without its memory.',
  },
  restoreTrace: {
    on: 'Pod',
    by: SANDBOX,
    meaning: 'Trace context of the operation that such a Pod is part of, for the spans of download and restore.',
  },
  startMemory: {
    on: 'Sandbox',
    by: SANDBOX,
    meaning:
      'How far a Sandbox with `restoreFrom` has come: the UID of the copy that it starts from, `restored`, or `failed:` and the reason. It never makes another copy.',
  },
  saveProblem: {
    on: 'Pod',
    by: SANDBOX,
    meaning:
      'Why its memory could not be saved while its node was being emptied. It counts with the label `sandlot.dev/memory: unsaved`.',
  },
  savedTemplate: {
    on: 'SandboxSnapshot',
    by: `${SANDBOX}, ${SNAPSHOT}`,
    meaning: 'Digest of the Pod template of the Sandbox. No Pod of another one is restored from the memory.',
  },
  savedRuntimeImage: {
    on: 'SandboxSnapshot',
    by: `${SANDBOX}, ${SNAPSHOT}`,
    meaning:
      'Image of the daemon in the saved Pod. The restored Pod mounts the same one, also after an upgrade of Sandlot.',
  },
  copiedFrom: {
    on: 'SandboxSnapshot, SandboxTemplate',
    by: `${SNAPSHOT}, ${API}`,
    meaning:
      'UID of the SandboxSnapshot whose data a copy has; namespace of the public template of which it is a copy.',
  },
  savedAt: {
    on: 'PersistentVolumeClaim',
    by: SNAPSHOT,
    meaning: 'On the copy of a disk: when the memory was saved with which it belongs.',
  },
  isDefaultClass: {
    on: 'SandboxSnapshotClass',
    by: 'the cluster administrator',
    meaning: '`true`: snapshots that name no class use this one.',
  },
};
