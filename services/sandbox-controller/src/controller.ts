import { isPoolMember } from '@sandlot/api-types';
import { createEventRecorder, keyOf, watchSource } from '@sandlot/kube';
import type { KubeObject, Source } from '@sandlot/kube';
import { keepDeadlines, openOutboxes } from '@sandlot/service';
import type { ControllerParts } from '@sandlot/service';
import type { Sandbox } from '@sandlot/api-types';
import { delayOf } from './pacing/adoption-delay.ts';
import { createInformers } from './wiring/informers.ts';
import type { Informers } from './wiring/informers.ts';
import { deadlinesOf } from './lifetime/deadlines.ts';
import { followCaches } from './telemetry/measure-caches.ts';
import { sandboxTelling } from './telemetry/lifecycle-events.ts';
import { createMemory, useOf, wakeSource } from './wiring/process-state.ts';
import { createSandboxMetrics } from './telemetry/metrics.ts';
import { sandboxKeysOf } from './observe.ts';
import { reconcile } from './reconcile.ts';
import type { Settings } from './plan/snapshot.ts';
import { SandboxTraces } from './telemetry/trace.ts';
import { PATIENT, URGENT, isUrgent } from './pacing/priority.ts';
import { useSource } from './lifetime/activity-reports.ts';
import type { WakeRefusal } from './wake/wake-refusals.ts';

export interface SandboxControllerOptions {
  readonly concurrency: number;
  /** Absent: all namespaces. */
  readonly namespace: string | undefined;
  readonly settings: Settings;
}

/** Wires the sandbox-controller into a manager. */
export function addSandboxController(
  parts: ControllerParts,
  { concurrency, namespace, settings }: SandboxControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, bus, clock, random, log, kubeMetrics, instance, templateLabels } = parts;
  const memory = createMemory(clock);
  const informers = createInformers({ client, namespace, clock, random, log, metrics: kubeMetrics }, memory.recent);
  informers.sandboxes.onChange((change) => {
    memory.patience.observed(change);
    memory.aftermath.observed(change);
    if (change.next === undefined && change.old !== undefined) memory.reports.forget(change.old);
  });
  const controller = 'sandlot.dev/sandbox-controller';
  const recorder = createEventRecorder({ client, controller, instance, clock, random, log, metrics: kubeMetrics });
  const metrics = createSandboxMetrics(parts.registry, { isCounting: () => manager.isLeader(), templateLabels });
  const caches = {
    sandboxes: informers.sandboxes.store,
    pods: informers.pods.store,
    services: informers.services.store,
    claims: informers.claims.store,
  };
  followCaches({ informers, metrics, manager, clock });
  const outbox = openOutboxes(parts)({ kind: 'sandbox', informer: informers.sandboxes, ...sandboxTelling(clock) });
  const deadlines = keepDeadlines(parts, informers.sandboxes, (sandbox, nowMs) =>
    deadlinesOf({ sandbox, nowMs, ...useOf(sandbox, memory) }),
  );
  const traces = new SandboxTraces({ client, clock, ...caches, isLeader: () => manager.isLeader() });
  traces.follow(informers);
  const [wakes, uses] = [wakeSource(bus, memory.wakes), useSource(bus, memory.uses)];
  const deps = {
    client,
    recorder,
    ...memory,
    caches,
    clock,
    settings,
    onPublished: (...change: Parameters<typeof metrics.published>) => {
      metrics.published(...change);
      traces.published(...change);
    },
    onWake: ({ metadata: { namespace: where, name, uid } }: Sandbox, answer: WakeRefusal | 'resumed') => {
      metrics.woken(answer);
      log.debug({ namespace: where, sandbox: name, uid, answer }, 'request to wake a Sandbox answered');
    },
  };
  manager.add({
    name: 'sandbox',
    concurrency,
    sources: [wakes, uses, deadlines.source, ...watchSources(informers)],
    within: (key, run) => traces.within(key, run),
    reconcile: (key, { signal }) => deadlines.pass(key, () => reconcile({ ...deps, signal }, key)),
  });
  return {
    close: async () => {
      wakes[Symbol.dispose]();
      uses[Symbol.dispose]();
      await Promise.all([recorder.flush(), deadlines.close(), traces.close(), outbox[Symbol.asyncDispose]()]);
    },
  };
}

/** Which changes of which objects make which Sandboxes worth a look, and how soon. */
function watchSources({ sandboxes, pods, services, claims }: Informers): Source[] {
  const ofChild = (child: KubeObject): string[] => sandboxKeysOf(child, sandboxes.store);
  const keyIf = (wanted: boolean, sandbox: Sandbox): string[] => (wanted ? [keyOf(sandbox)] : []);
  return [
    watchSource(sandboxes, (sandbox) => keyIf(!isPoolMember(sandbox), sandbox), { delayMs: delayOf }),
    watchSource(sandboxes, (sandbox) => keyIf(isPoolMember(sandbox), sandbox), { delayMs: delayOf, priority: PATIENT }),
    watchSource(pods, (pod, change) => (isUrgent(change) ? ofChild(pod) : []), { priority: URGENT }),
    watchSource(pods, ofChild),
    watchSource(services, ofChild),
    watchSource(claims, ofChild),
  ];
}
