import { z } from 'zod';

/** The object of an event. Consumers re-read it: an event says that something happened, not what is true now. */
const objectRef = { namespace: z.string(), name: z.string(), uid: z.string() };
const reason = { reason: z.string(), message: z.string().optional() };
const launchType = z.enum(['warm', 'cold', 'snapshot', 'unknown']);
const named = z.object({ name: z.string(), uid: z.string() });

/** The sandbox of a claim as clients of the E2B API see it. Claims made in another way, and those in which builds run, have none. */
const clientSandbox = z.object({
  id: z.string(),
  template: z.string(),
  /** What the client noted about it; absent where it is longer than the catalogue allows, because all tenants share the stream. */
  metadata: z.record(z.string(), z.string()).optional(),
  /** When the Pod began that runs or ran last, RFC 3339. */
  startedAt: z.string().optional(),
  /** How long it has run or ran, milliseconds. */
  runMs: z.number().int().nonnegative().optional(),
  /** Resumes tell runs apart; absent: the first run. */
  resumedAt: z.string().optional(),
  cpuCount: z.number().int().optional(),
  memoryMB: z.number().int().optional(),
});

const claim = z.object({
  ...objectRef,
  pool: z.string().optional(),
  template: z.string().optional(),
  client: clientSandbox.optional(),
});
const sandbox = z.object({
  ...objectRef,
  claim: named.optional(),
  pool: z.string().optional(),
  template: z.string().optional(),
});
const pool = z.object({
  ...objectRef,
  template: z.string().optional(),
  desired: z.number().int(),
  ready: z.number().int(),
});
const snapshot = z.object({ ...objectRef, sandbox: z.object({ name: z.string(), uid: z.string().optional() }) });
/** What a build makes, and no command or argument of it: these may have secrets. */
const build = z.object({ ...objectRef, templates: z.array(z.string()) });
const rollout = pool.extend({ templateHash: z.string() });

/** What of a Sandbox a SandboxSnapshot has, or its Pod gets of it. Events of earlier releases lack it. */
const kept = z.enum(['Memory', 'Files']).optional();

/** Data of every lifecycle event, version 1. Within a version fields may be added, but none changes or goes away. */
export const eventData = {
  'claim.submitted': claim,
  'claim.bound': claim.extend({
    sandbox: named,
    launchType,
    bindMs: z.number().nonnegative().optional(),
    /** Id of the API key that made the claim. */
    apiKey: z.string().optional(),
    /** What the containers of the Sandbox request together: CPUs, and bytes of memory. */
    requests: z.object({ cpu: z.number().nonnegative(), memoryBytes: z.number().nonnegative() }).optional(),
  }),
  'claim.failed': claim.extend(reason),
  'claim.expired': claim.extend(reason),
  'claim.completed': claim.extend({ sandbox: named.optional() }),
  'claim.extended': claim.extend({ endAt: z.string() }),
  'claim.suspended': claim,
  'claim.resumed': claim,
  'claim.deleted': claim.extend({ cause: z.enum(['user', 'expiry', 'unknown']) }),
  'sandbox.created': sandbox.extend({ launchType: launchType.optional() }),
  'sandbox.ready': sandbox.extend({ podName: z.string().optional(), launchType: launchType.optional() }),
  'sandbox.suspended': sandbox.extend({ cause: z.string() }),
  'sandbox.resumed': sandbox,
  'sandbox.finished': sandbox.extend({ outcome: z.enum(['succeeded', 'failed']), ...reason }),
  'sandbox.expired': sandbox.extend(reason),
  'sandbox.deleted': sandbox.extend({ cause: z.string() }),
  'sandbox.wake.requested': sandbox.extend({
    requestedBy: z.string().optional(),
    generation: z.number().int().nonnegative().optional(),
  }),
  'sandbox.hibernated': sandbox.extend({ snapshot: named, sizeBytes: z.number().int().nonnegative(), kept }),
  'sandbox.restored': sandbox.extend({ snapshot: named, podName: z.string(), kept }),
  'sandbox.restore.failed': sandbox.extend({ snapshot: named, podName: z.string(), kept, message: z.string() }),
  'pool.depleted': pool,
  'pool.ready': pool,
  'pool.rollout.started': rollout,
  'pool.rollout.finished': rollout,
  'pool.stuck': pool.extend({ stuck: z.number().int(), ...reason }),
  'snapshot.ready': snapshot.extend({
    nodeName: z.string(),
    sizeBytes: z.number().int().nonnegative(),
    /** Of a snapshot that a client of the E2B API asked for. */
    client: clientSandbox.pick({ id: true, template: true }).optional(),
  }),
  'snapshot.failed': snapshot.extend(reason),
  'build.started': build,
  'build.ready': build.extend({
    /** How many steps it has, and how many of them came from the cache. */
    steps: z.number().int().nonnegative(),
    cachedSteps: z.number().int().nonnegative(),
    tookMs: z.number().int().nonnegative().optional(),
  }),
  'build.failed': build.extend({ reason: z.string(), step: z.string().optional() }),
  'template.changed': z.object({ ...objectRef, generation: z.number().int() }),
  'audit.recorded': z.object({
    ...objectRef,
    action: z.string(),
    /** `user`: the Kubernetes user of a request without an API key; `key` and `team` are empty then. */
    actor: z.object({ key: z.string(), team: z.string(), role: z.string(), user: z.string().optional() }),
    source: z.object({ address: z.string(), userAgent: z.string().optional() }),
    requestId: z.string(),
    status: z.number().int(),
    outcome: z.enum(['done', 'denied', 'refused', 'failed']),
    message: z.string().optional(),
  }),
} as const;

export type EventType = keyof typeof eventData;

/** The meaning of each event, for people. docs/events.md says how it is derived from objects. */
export const about: Readonly<Record<EventType, string>> = {
  'claim.submitted': 'A claim was created.',
  'claim.bound': 'A claim was given a Sandbox; a batch, one of its Sandboxes.',
  'claim.failed': 'A claim cannot be served unless it is changed, or what ran in its Sandbox failed.',
  'claim.expired': 'The deadline of a claim has come.',
  'claim.completed': 'A batch claims no more, or what ran in the Sandbox of a claim succeeded.',
  'claim.extended': 'The end of a sandbox of the E2B API was moved.',
  'claim.suspended': 'The pod of a sandbox of the E2B API is gone and its volumes stay.',
  'claim.resumed': 'A sandbox of the E2B API leaves its suspension.',
  'claim.deleted': 'The claim of a sandbox of the E2B API that had been bound is gone.',
  'sandbox.created': 'A Sandbox was created.',
  'sandbox.ready': 'A Sandbox became Ready.',
  'sandbox.suspended': 'The pod of a Sandbox is gone and its volumes stay.',
  'sandbox.resumed': 'A Sandbox leaves its suspension.',
  'sandbox.finished': 'The pod of a Sandbox ended and nothing replaces it.',
  'sandbox.expired': 'The deadline of a Sandbox has come.',
  'sandbox.deleted': 'A Sandbox is gone.',
  'sandbox.wake.requested':
    'A request needs a suspended Sandbox. The gateway repeats the event, because it may be lost.',
  'sandbox.hibernated':
    'The memory of a Sandbox, or with `kept: Files` its files alone, is saved, and its pod stands still until it is deleted.',
  'sandbox.restored':
    'A Sandbox goes on from its saved memory in a new pod, or with `kept: Files` boots with its files: its processes are gone.',
  'sandbox.restore.failed':
    'A pod could not get what `kept` names. Another pod follows, with the files if these were kept beside the memory.',
  'pool.depleted': 'A pool has no Ready member left.',
  'pool.ready': 'A pool is full for the first time since it was empty or another size was wanted.',
  'pool.rollout.started': 'Members of an earlier template are being replaced.',
  'pool.rollout.finished': 'All members are of the current template.',
  'pool.stuck': 'A pool does not progress.',
  'snapshot.ready': 'A SandboxSnapshot is complete on its node.',
  'snapshot.failed': 'A SandboxSnapshot could not be saved, or has lost its data.',
  'build.started': 'A SandboxTemplateBuild has begun.',
  'build.ready': 'A SandboxTemplateBuild has made its templates.',
  'build.failed': 'A SandboxTemplateBuild has failed, or was ended before it began.',
  'template.changed': 'A template was created or its spec was edited.',
  'audit.recorded':
    'A client asked the API for a change: who, what, from where, and the result. The UID is empty if the object was not found.',
};

/** Data of one event type. */
export type EventData = { readonly [T in EventType]: z.output<(typeof eventData)[T]> };

/** Whether `text` names an event of the catalogue. */
export function isEventType(text: string): text is EventType {
  return Object.hasOwn(eventData, text);
}

/** Every event type of the catalogue. */
export const eventTypes: readonly EventType[] = Object.keys(eventData).filter(isEventType);
