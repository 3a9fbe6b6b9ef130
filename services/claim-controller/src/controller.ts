import type { SandboxClaim } from '@sandlot/api-types';
import { createChannelSource, createEventRecorder, createWorkQueue, FairOrder, parseKey } from '@sandlot/kube';
import type { EventRecorder, WorkQueue } from '@sandlot/kube';
import type { Outbox } from '@sandlot/outbox';
import { keepDeadlines, openOutboxes } from '@sandlot/service';
import type { ControllerParts, ServedNamespaces } from '@sandlot/service';
import { BatchMemory } from './batch/batch-memory.ts';
import { createCache } from './wiring/cache.ts';
import type { Cache } from './wiring/cache.ts';
import { DeliveryMemory } from './delivery/delivery-memory.ts';
import { listDeadlines } from './lifetime/schedule.ts';
import { showClaims } from './telemetry/claims-with-sandboxes.ts';
import { describeClaims, createClaimEvents } from './telemetry/events.ts';
import { ClaimMemory } from './memory/claim-memory.ts';
import type { ClaimPolicy } from './observe.ts';
import { reconcileClaim } from './reconcile.ts';
import { RuntimeInits } from './runtime/runtime-inits.ts';
import type { RuntimeAccess, RuntimeInitsDeps } from './runtime/runtime-inits.ts';
import { dropStoredEnvs } from './runtime/stored-envs.ts';
import { createOwnClaims, createOwnSandboxes } from './wiring/own-writes.ts';
import { claimSources, PRIORITY } from './wiring/sources.ts';
import { Places } from './quota/places.ts';
import { keepStock } from './stock/keep-stock.ts';
import { Stock } from './stock/stock.ts';
import { ClaimTraces } from './telemetry/trace.ts';
import { startUsage } from './usage/start.ts';
import { Waiters } from './stock/waiters.ts';
import { createMeasuredMetrics } from './telemetry/waiting-claims.ts';
import { WriteBehind } from './publish/write-behind.ts';
import type { WriteBehindDeps } from './publish/write-behind.ts';

export interface ClaimControllerOptions {
  readonly policy: ClaimPolicy;
  readonly concurrency: number;
  readonly namespaces: ServedNamespaces;
  readonly writeBehindMs: number;
  /** Whether the controller writes Kubernetes Events; default true. Each is a write beside the claims of a burst. */
  readonly recordsEvents?: boolean | undefined;
  /** Whether this controller keeps the ledger of usage; default false. It needs NATS. */
  readonly keepsUsage?: boolean | undefined;
  /** Access to the daemons in sandboxes; absent: claims of templates with `runtime.inject` are not served. */
  readonly runtime?: RuntimeAccess | undefined;
}

const REPORTER = { controller: 'sandlot.dev/claim-controller' };
const silentRecorder: EventRecorder = { record: () => undefined, flush: () => Promise.resolve() };

/** Wires the claim-controller into a manager. */
export function addClaimController(
  parts: ControllerParts,
  options: ClaimControllerOptions,
): { close(): Promise<void> } {
  const { policy, writeBehindMs, recordsEvents = true } = options;
  const { client, manager, clock } = parts;
  const cache = createCache({ ...parts, metrics: parts.kubeMetrics, namespaces: options.namespaces });
  const requests = createChannelSource();
  const enqueue = (claimKey: string): void => requests.push(claimKey, { priority: PRIORITY.claim });
  const memories = createMemories(cache, clock);
  const { memory, batches } = memories;
  const claims = createOwnClaims({ cache, clock });
  const sandboxes = createOwnSandboxes({ cache, clock, memory, batches, enqueue });
  const stock = new Stock((poolUid) => waiters.offer(poolUid));
  const waiters = new Waiters({ enqueue, countAvailable: (poolUid) => stock.available(poolUid) });
  const writeBehind = createWriteBehind(parts, { claims, windowMs: writeBehindMs, onFailure: enqueue });
  const recorder = createRecorder(parts, recordsEvents);
  const deadlines = keepDeadlines({ ...parts, shardBy: getNamespace }, cache.claims, listDeadlines);
  const nowMs = (): number => clock.now();
  const traces = new ClaimTraces({ claims, sandboxes, memory, clock });
  const outbox = getOutbox(parts, cache);
  const claimMetrics = createMeasuredMetrics(parts, cache.claims);
  const runtime = createRuntime(parts, options, { enqueue, metrics: claimMetrics });
  const deps = {
    client,
    cache,
    ...memories,
    stock,
    waiters,
    writeBehind,
    recorder,
    policy,
    nowMs,
    traces,
    sandboxes,
    claims,
    metrics: claimMetrics,
    runtime,
    events: createClaimEvents(outbox, nowMs),
  };
  keepStock({ cache, stock, podDefaults: policy.podDefaults });
  followClaims(cache, { ...memories, writeBehind, traces, runtime });
  dropStoredEnvs({ client, manager, claims: cache.claims, envsNamespace: policy.envsNamespace });
  manager.add({
    name: 'claim',
    shardBy: getNamespace,
    concurrency: options.concurrency,
    queue: createFairQueue(parts),
    sources: [...claimSources(cache), requests, deadlines.source],
    within: (key, run) => traces.within(key, run),
    reconcile: (key, context) => deadlines.pass(key, () => reconcileClaim(deps, key, context)),
  });
  const usage = startUsage(parts, cache, options);
  return {
    close: async () => {
      await Promise.all([writeBehind.flush(), recorder.flush(), deadlines.close(), disposeAll(outbox, usage)]);
      for (const own of [claims, sandboxes, runtime]) own[Symbol.dispose]();
    },
  };
}

async function disposeAll(...all: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(all.map((each) => each[Symbol.asyncDispose]()));
}

function createRuntime(
  { client, clock, log, manager }: ControllerParts,
  { policy, runtime: access }: ClaimControllerOptions,
  hooks: Pick<RuntimeInitsDeps, 'enqueue' | 'metrics'>,
): RuntimeInits {
  const isLeading = ({ metadata }: SandboxClaim): boolean => manager.owns(metadata.namespace ?? '');
  return new RuntimeInits({ ...hooks, client, clock, log, isLeading, envsNamespace: policy.envsNamespace, access });
}

/** With shards, another process writes about a claim as soon as this one no longer owns it. */
function createWriteBehind(
  { client, clock, log, manager }: ControllerParts,
  own: Pick<WriteBehindDeps, 'claims' | 'windowMs' | 'onFailure'>,
): WriteBehind {
  const findOwner: WriteBehindDeps['findSignal'] = ({ metadata: { namespace = '' } }) =>
    manager.findTermSignal(namespace);
  return new WriteBehind({ ...own, client, clock, log, findSignal: manager.shards === 1 ? undefined : findOwner });
}

function createMemories(cache: Cache, clock: ControllerParts['clock']) {
  return {
    memory: new ClaimMemory(clock),
    batches: new BatchMemory(),
    deliveries: new DeliveryMemory(),
    places: new Places(cache),
  };
}

function createRecorder(parts: ControllerParts, recordsEvents: boolean): EventRecorder {
  if (!recordsEvents) return silentRecorder;
  const { client, instance, clock, random, log, kubeMetrics: metrics } = parts;
  return createEventRecorder({ client, clock, random, log, metrics, instance, ...REPORTER });
}

/** Quota, stock and waiting claims are counted for a namespace, so one process works on all of its claims. */
function getNamespace(claimKey: string): string {
  return parseKey(claimKey).namespace ?? '';
}

/** Fair by namespace: a thousand claims of one tenant delay the one claim of another by a single pass. */
function createFairQueue({ clock, random, kubeMetrics: metrics }: ControllerParts): WorkQueue {
  const order = new FairOrder(getNamespace);
  return createWorkQueue({ name: 'claim', clock, random, metrics, order });
}

function getOutbox(parts: ControllerParts, cache: Cache): Outbox<SandboxClaim> {
  const telling = describeClaims(
    (key) => cache.sandboxes.store.get(key),
    () => parts.clock.now(),
  );
  return openOutboxes(parts)({ kind: 'claim', informer: showClaims(cache), ...telling });
}

interface Followers {
  readonly memory: ClaimMemory;
  readonly batches: BatchMemory;
  readonly deliveries: DeliveryMemory;
  readonly writeBehind: WriteBehind;
  readonly traces: ClaimTraces;
  readonly runtime: RuntimeInits;
  readonly places: Places;
}

/** Starts the latency of a claim at its first sight, and forgets a claim or Sandbox when it is gone. */
function followClaims({ claims, sandboxes }: Cache, followers: Followers): void {
  const { memory, batches, deliveries, writeBehind, traces, runtime, places } = followers;
  claims.onChange(({ old, next, last }) => {
    if (old !== undefined && old.metadata.uid !== next?.metadata.uid) {
      traces.endDeleted(old);
      memory.forget(old);
      deliveries.forget(old);
      batches.recordEnd(old, last);
      writeBehind.forget(old);
      places.forget(old);
    }
    if (next === undefined) return;
    memory.begin(next);
  });
  sandboxes.onChange(({ old, next }) => {
    if (old !== undefined && next === undefined) runtime.forget(old);
  });
}
