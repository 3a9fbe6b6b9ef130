/** What a mechanism does: it lets other work go first, does several things at once, or limits requests a second. */
export type Kind = 'yield' | 'gather' | 'limit';

/** One way in which Sandlot slows its own work down on purpose. */
export interface Mechanism<V extends Readonly<Record<string, number>>> {
  readonly kind: Kind;
  /** Units stand in the names. */
  readonly values: V;
  /** The values that switch it off, for benchmarks. */
  readonly off: Readonly<Partial<Record<keyof V, number>>>;
  /** Files that read the values, relative to the root of the repository. */
  readonly usedIn: readonly string[];
  readonly why: string;
  /** What the benchmark shows when it is switched off. */
  readonly measured: string;
}

function describeMechanism<const V extends Readonly<Record<string, number>>>(one: Mechanism<V>): Mechanism<V> {
  return one;
}

/** A rate that no load reaches. `Infinity` would make 0 × Infinity. */
const ANY = 1_000_000_000;
const NO_RATE = { perSecond: ANY, burst: ANY } as const;

const yields = {
  backgroundGate: describeMechanism({
    kind: 'yield',
    values: {
      least: 1,
      most: 32,
      start: 4,
      slowFactor: 3,
      neverSlowMs: 25,
      forgetMs: 30_000,
      backOffFactor: 0.5,
      pauseFactor: 3,
      longestPauseMs: 500,
    },
    off: { start: ANY, most: ANY, neverSlowMs: Infinity },
    usedIn: ['libs/pacing/src/gate.ts'],
    why: 'Bounds the background requests in flight. A busy API server serves each request in turn, so fewer background requests leave more turns for claims. The bound falls when answers take slowFactor times the usual, and rises again.',
    measured:
      'A burst of 300 is Ready after 6.9 s instead of 4.0 s (2.9 to 5.1 s in two rounds), and at 20 claims a second the p50 is 522 ms instead of 109 ms.',
  }),
  adoptionDelay: describeMechanism({
    kind: 'yield',
    values: { delayMs: 800 },
    off: { delayMs: 0 },
    usedIn: ['services/sandbox-controller/src/pacing/adoption-delay.ts'],
    why: 'The pass over a Sandbox that was adopted Ready only relabels its Pod, which no client waits for. It must follow within 1 s.',
    measured: 'At 20 short-lived claims a second 6.6 writes and 20.4 reconciles a claim instead of 6.5 and 19.8.',
  }),
  adoptionStatus: describeMechanism({
    kind: 'yield',
    values: { perAdoptionMs: 100, longestMs: 5_000 },
    off: { perAdoptionMs: 0, longestMs: 0 },
    usedIn: ['services/sandbox-controller/src/pacing/adoption-holds.ts'],
    why: 'After an adoption only observedGeneration of the Sandbox changes. Writing it costs at most ten writes a second, and short-lived Sandboxes end before it is written.',
    measured: 'At 20 short-lived claims a second 7.4 writes a claim instead of 6.5.',
  }),
  startStatus: describeMechanism({
    kind: 'yield',
    values: { quietMs: 5_000, perStartMs: 100, longestMs: 120_000, unschedulableMs: 2_000 },
    off: { quietMs: 0, perStartMs: 0, longestMs: 0, unschedulableMs: 0 },
    usedIn: [
      'services/sandbox-controller/src/pacing/quiet-start.ts',
      'services/sandbox-controller/src/status/decide-status-write.ts',
    ],
    why: 'The steps of a start are not written while it is young: most Pods are Ready by then, and one write reports the whole start. The more Sandboxes start, the longer it is quiet. An unschedulable Pod is reported early.',
    measured:
      'A burst costs 9.6 writes a claim instead of 8.1 and 20 % more CPU of the controllers; at 20 claims a second 8.2 writes instead of 6.5.',
  }),
  claimAnnotations: describeMechanism({
    kind: 'yield',
    values: { perClaimMs: 100, longestMs: 5_000, fewPerSecond: 10 },
    off: { perClaimMs: 0, longestMs: 0, fewPerSecond: 0 },
    usedIn: [
      'services/claim-controller/src/publish/write-behind.ts',
      'services/claim-controller/src/memory/claim-memory.ts',
    ],
    why: 'While at most fewPerSecond claims arrive, their bookkeeping annotations are written beside the commit. Otherwise they are written behind, at ten a second, but at most longestMs late. SANDBOX_WRITE_BEHIND_WINDOW sets the shortest wait.',
    measured: 'At 20 short-lived claims a second 7.3 writes a claim instead of 6.5.',
  }),
  traceExport: describeMechanism({
    kind: 'yield',
    values: { delayMs: 2_000, pauseMs: 20, spansTogether: 64 },
    off: { delayMs: 0, pauseMs: 0, spansTogether: ANY },
    usedIn: ['libs/telemetry/src/export/tail-buffer.ts'],
    why: 'Traces are kept because something was slow. Their spans leave later and in pieces, so that the export does not make it slower.',
    measured: 'Not shown: a burst is Ready after 2.1 s instead of 1.7 s in one round, near the edge of the spread.',
  }),
} as const;

const gathers = {
  poolChanges: describeMechanism({
    kind: 'gather',
    values: { gatherMs: 30 },
    off: { gatherMs: 0 },
    usedIn: ['services/warmpool-controller/src/wiring/sandbox-changes.ts'],
    why: 'Every member changes several times during a refill, and adoptions come by the hundred in a burst: one pass over the pool serves all of them.',
    measured: 'At 20 claims a second 22.5 reconciles a claim instead of 19.8, in a burst 15.4 instead of 14.4.',
  }),
  poolStatus: describeMechanism({
    kind: 'gather',
    values: { intervalMs: 250 },
    off: { intervalMs: 0 },
    usedIn: ['services/warmpool-controller/src/controller.ts'],
    why: 'The counts of a pool change with every adoption. A status write for each would cost more than the adoptions.',
    measured:
      'At 20 claims a second 7.2 writes a claim instead of 6.5, and a burst takes 28 % more CPU of the controllers.',
  }),
  templateStatus: describeMechanism({
    kind: 'gather',
    values: { intervalMs: 1_000 },
    off: { intervalMs: 0 },
    usedIn: ['services/warmpool-controller/src/templates/controller.ts'],
    why: 'The status of a template repeats the counts of its pools.',
    measured: '200 changes of a pool within 4 s cost the template 200 status writes instead of fewer than 12.',
  }),
  batchStatus: describeMechanism({
    kind: 'gather',
    values: { intervalMs: 1_000 },
    off: { intervalMs: 0 },
    usedIn: ['services/claim-controller/src/batch/publish-slots.ts'],
    why: 'Changes of readiness alone are gathered: a batch of a thousand would otherwise cost a thousand writes. Deliveries are written at once.',
    measured: '40 Sandboxes that become Ready within 200 ms cost their batch 27 status writes instead of at most 3.',
  }),
  coldStatus: describeMechanism({
    kind: 'gather',
    values: { holdMs: 2_000 },
    off: { holdMs: 0 },
    usedIn: ['services/claim-controller/src/publish/decide-hold.ts'],
    why: 'While more claims arrive than fewPerSecond of claimAnnotations, a cold one shows its Sandbox only when that is Ready, but at most holdMs late: one status write instead of two.',
    measured:
      'A life without a pool costs 5 writes instead of 4, and 1,000 of them take 1.56 times as long as with a bare client instead of 1.41 times.',
  }),
  outbox: describeMechanism({
    kind: 'gather',
    values: { gatherMs: 500, earlyMs: 10 },
    off: { gatherMs: 0, earlyMs: 0 },
    usedIn: ['libs/outbox/src/outbox.ts'],
    why: 'News of one object is recorded with one write. Events that a client waits for are sent ahead of the record; several leave in one piece.',
    measured: 'A burst takes 43 % more CPU of the controllers, and 20 claims a second 37 % more.',
  }),
  redisErrands: describeMechanism({
    kind: 'gather',
    values: { gatherMs: 500 },
    off: { gatherMs: 0 },
    usedIn: ['libs/jobs/src/keeper.ts'],
    why: 'A claim that comes and goes within this time costs Redis nothing, and commands travel in bulk.',
    measured: 'The deadlines of 100 objects that come and go within 200 ms cost Redis 400 commands instead of none.',
  }),
  eventSeries: describeMechanism({
    kind: 'gather',
    values: { intervalMs: 10_000 },
    off: { intervalMs: 0 },
    usedIn: ['libs/kube/src/events/recorder.ts'],
    why: 'Repetitions of one Kubernetes Event are counted and written together.',
    measured: 'An Event that repeats every 10 ms for 6 s costs 600 writes instead of 2.',
  }),
} as const;

const limits = {
  apiRequests: describeMechanism({
    kind: 'limit',
    values: {
      claimPerSecond: 1_000,
      claimBurst: 2_000,
      normalPerSecond: 300,
      normalBurst: 600,
      backgroundPerSecond: 500,
      backgroundBurst: 1_000,
    },
    off: {
      claimPerSecond: ANY,
      claimBurst: ANY,
      normalPerSecond: ANY,
      normalBurst: ANY,
      backgroundPerSecond: ANY,
      backgroundBurst: ANY,
    },
    usedIn: ['libs/kube/src/transport/limiter.ts'],
    why: 'No backlog of one process may look like an attack to the API server. Each priority has its own bucket, so that claims never wait behind refills.',
    measured:
      'Of 5,000 requests at once all pass, instead of 2,000 for claims, 600 normal and 1,000 in the background.',
  }),
  requeues: describeMechanism({
    kind: 'limit',
    values: { perSecond: 100, burst: 500 },
    off: NO_RATE,
    usedIn: ['libs/kube/src/queue/workqueue.ts'],
    why: 'All keys of a queue that fail share it, besides the back-off of each: an outage does not end in a stampede.',
    measured: '2,000 keys that fail together are all tried again after 5 ms, instead of 500, and then 100 a second.',
  }),
  events: describeMechanism({
    kind: 'limit',
    values: { perSecond: 10, burst: 50, routinePerSecond: 2, routineBurst: 50, routineLongestMs: 20_000 },
    off: { ...NO_RATE, routinePerSecond: ANY, routineBurst: ANY, routineLongestMs: ANY },
    usedIn: ['libs/kube/src/events/recorder.ts'],
    why: 'Kubernetes Events are for people, who read no more than this. They share etcd with the claims. The routine ones, of which every claim gets one, have a lower rate of their own, and are left out when they would come later than routineLongestMs.',
    measured: '1,000 Events at once are 1,000 writes, instead of 50, and then 10 a second.',
  }),
  causeReads: describeMechanism({
    kind: 'limit',
    values: { perSecond: 2, burst: 20 },
    off: NO_RATE,
    usedIn: ['services/sandbox-controller/src/wiring/process-state.ts'],
    why: 'The cause of a lasting trouble is read from Events of Pods and disks, at few reads a second for all Sandboxes.',
    measured: '200 troubles that are reported together cost 200 lists of Events instead of 20.',
  }),
  traceReads: describeMechanism({
    kind: 'limit',
    values: { perSecond: 2, burst: 10 },
    off: NO_RATE,
    usedIn: ['services/sandbox-controller/src/telemetry/trace-facts.ts'],
    why: 'The facts of a trace that the caches do not hold are read for few Sandboxes a second.',
    measured: '200 traces that are kept together cost 200 reads of Pods instead of 10.',
  }),
  gatewayLookups: describeMechanism({
    kind: 'limit',
    values: { perSecond: 50, burst: 100, sourcePerSecond: 5, sourceBurst: 20 },
    off: { ...NO_RATE, sourcePerSecond: ANY, sourceBurst: ANY },
    usedIn: ['services/gateway/src/directory/directory.ts'],
    why: 'Before it refuses a request, the gateway asks the API server about a sandbox by name, whatever names clients make up. The first two values are for all clients together, the others for each client address. Unknown ids cost no request.',
    measured:
      '300 made-up names at once cost 300 requests to the API server instead of 20 from one address and 100 from many.',
  }),
  gatewayCredentials: describeMechanism({
    kind: 'limit',
    values: {
      perSecond: 50,
      burst: 100,
      sourcePerSecond: 5,
      sourceBurst: 20,
      knownPerSecond: 100,
      knownBurst: 200,
      credentialPerSecond: 20,
      credentialBurst: 50,
    },
    off: {
      ...NO_RATE,
      sourcePerSecond: ANY,
      sourceBurst: ANY,
      knownPerSecond: ANY,
      knownBurst: ANY,
      credentialPerSecond: ANY,
      credentialBurst: ANY,
    },
    usedIn: ['services/gateway/src/access/credential-checks.ts'],
    why: 'The gateway has credentials checked that it has not seen, whatever credentials clients make up: at the first rate for all clients together, and at the second for each client address. Credentials that were valid in the last hour have the third rate together, and the fourth each. API keys and Kubernetes tokens are counted apart.',
    measured: '300 made-up keys at once cost 300 requests to the API instead of 20 from one address and 100 from many.',
  }),
} as const;

/** Every mechanism by which Sandlot slows its own work down. Deadlines and time limits of protocols are none. */
export const mechanisms = { ...yields, ...gathers, ...limits } as const;

export type MechanismName = keyof typeof mechanisms;
