import type { Sandbox } from '@sandlot/api-types';
import { createChannelSource, createEventRecorder, getKey } from '@sandlot/kube';
import type { EventRecorder } from '@sandlot/kube';
import { keepDeadlines, openOutboxes } from '@sandlot/service';
import type { ControllerParts, ServedNamespaces } from '@sandlot/service';
import { DrainView } from './drain/drain-view.ts';
import { reconcileBudget } from './drain/reconcile-budget.ts';
import { watchBudgetSources, watchDrainSources } from './drain/sources.ts';
import { createActivitySource } from './lifetime/activity-reports.ts';
import { listDeadlines } from './lifetime/deadlines.ts';
import { observeActivity } from './observe.ts';
import type { Settings } from './plan/snapshot.ts';
import type { MoveResult } from './plan/steps.ts';
import { reconcile } from './reconcile.ts';
import { createSandboxFactSource } from './telemetry/lifecycle-events.ts';
import { measureCaches } from './telemetry/measure-caches.ts';
import { createSandboxMetrics } from './telemetry/metrics.ts';
import { SandboxTraces } from './telemetry/trace.ts';
import type { WakeAnswer } from './wake/wake-answers.ts';
import { wakeSource } from './wake/wake-requests.ts';
import { createInformers } from './wiring/informers.ts';
import type { Informers } from './wiring/informers.ts';
import { followAuthority } from './wiring/follow-authority.ts';
import { followResolver } from './wiring/follow-resolver.ts';
import type { ServiceKey } from './wiring/follow-resolver.ts';
import { createProcessState } from './wiring/process-state.ts';
import type { ProcessState } from './wiring/process-state.ts';
import { watchSources } from './wiring/sources.ts';
import { closeCollections, createCollections } from './writes/collections.ts';
import type { Collections } from './writes/collections.ts';

export interface SandboxControllerOptions {
  readonly concurrency: number;
  readonly namespaces: ServedNamespaces;
  readonly settings: Settings;
  /** The Service of the egress proxy; absent: the installation has none. */
  readonly egressService?: ServiceKey | undefined;
  /** The file with the authority of the egress proxy; absent: the installation has none. */
  readonly egressCaFile?: string | undefined;
}

/** Adds the sandbox-controller to a manager. */
export function addSandboxController(
  parts: ControllerParts,
  { concurrency, namespaces, settings, egressService, egressCaFile }: SandboxControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics } = parts;
  const state = createProcessState(clock);
  const informers = createInformers({ client, namespaces, clock, random, log, metrics: kubeMetrics, settings });
  const doubts = createChannelSource();
  const collections = createCollections(informers, { clock, enqueue: (key) => doubts.push(key) });
  followSandboxes(informers, state);
  manager.addInformer(informers.policies);
  const recorder = createRecorder(parts);
  const metrics = createSandboxMetrics(parts.registry, {
    isCounting: () => manager.isLeader(),
    templateLabels: parts.templateLabels,
  });
  measureCaches({ informers, metrics, manager, clock });
  const facts = createSandboxFactSource(clock);
  const outbox = openOutboxes(parts)({ kind: 'sandbox', informer: informers.sandboxes, ...facts });
  const deadlines = keepDeadlines(parts, informers.sandboxes, (sandbox, nowMs) =>
    listDeadlines({ sandbox, nowMs, ...observeActivity(state, sandbox) }),
  );
  const traces = createTraces(parts, informers);
  const [wakes, activity] = [wakeSource(bus, state.wakes), createActivitySource(bus, state.activityReports)];
  const deps = {
    client,
    recorder,
    ...state,
    collections,
    policies: informers.policies.store,
    clock,
    settings,
    drain: addDrain(parts, informers, collections),
    ...followEgress(parts, { egressService, egressCaFile }),
    onMove: (result: MoveResult) => metrics.countMove(result),
    onStatusWritten: (before: Sandbox, after: Sandbox) => {
      metrics.onStatusWritten(before, after);
      traces.onStatusWritten(before, after);
    },
    onWakeAnswer: ({ metadata: { namespace, name, uid } }: Sandbox, answer: WakeAnswer) => {
      metrics.countWakeAnswer(answer);
      log.debug({ namespace, sandbox: name, uid, answer }, 'answered a request to wake a Sandbox');
    },
  };
  manager.add({
    name: 'sandbox',
    concurrency,
    sources: [wakes, activity, doubts, deadlines.source, ...watchSources(informers), ...watchDrainSources(informers)],
    within: (key, run) => traces.within(key, run),
    reconcile: (key, { signal }) => deadlines.pass(key, () => reconcile({ ...deps, signal }, key)),
  });
  return {
    close: async () => {
      wakes[Symbol.dispose]();
      activity[Symbol.dispose]();
      closeCollections(collections);
      await Promise.all([recorder.flush(), deadlines.close(), traces.close(), outbox[Symbol.asyncDispose]()]);
    },
  };
}

type EgressSources = Pick<SandboxControllerOptions, 'egressService' | 'egressCaFile'>;

function followEgress(parts: ControllerParts, { egressService, egressCaFile }: EgressSources) {
  return {
    findResolver: followResolver(parts, egressService),
    readAuthority: followAuthority(egressCaFile, parts.log),
  };
}

/** Adds the controller of the budgets by which evictions wait. Returns the view of nodes that are being emptied. */
function addDrain(
  { manager, client, log }: ControllerParts,
  { pods, drain }: Informers,
  collections: Collections,
): DrainView | undefined {
  if (drain === undefined) return undefined;
  const deps = { client, log, pods: pods.store, budgets: drain.budgets.store };
  manager.addInformer(drain.classes);
  manager.add({
    name: 'memory-budget',
    concurrency: 1,
    sources: watchBudgetSources(pods, drain.budgets),
    reconcile: (namespace, context) => reconcileBudget(deps, namespace, context),
  });
  return new DrainView({ pods: collections.pods.own, nodes: drain.nodes.store, classes: drain.classes.store });
}

/** The owner of a Sandbox alone makes its spans. */
function createTraces({ client, clock, manager }: ControllerParts, informers: Informers): SandboxTraces {
  const [sandboxes, pods] = [informers.sandboxes.store, informers.pods.store];
  const isOwner = (sandbox: Sandbox): boolean => manager.owns(getKey(sandbox));
  const traces = new SandboxTraces({ client, clock, sandboxes, pods, isOwner });
  traces.follow(informers);
  return traces;
}

function createRecorder({ client, instance, clock, random, log, kubeMetrics }: ControllerParts): EventRecorder {
  const controller = 'sandlot.dev/sandbox-controller';
  return createEventRecorder({ client, controller, instance, clock, random, log, metrics: kubeMetrics });
}

/** Keeps what the process remembers about Sandboxes in step with the cache. */
function followSandboxes({ sandboxes }: Informers, { quietStarts, adoptionHolds, earlyActivity }: ProcessState): void {
  sandboxes.onChange((change) => {
    quietStarts.onSandboxChange(change);
    adoptionHolds.onSandboxChange(change);
    if (change.next === undefined && change.old !== undefined) earlyActivity.forget(change.old);
  });
}
