import { createChannelSource, createEventRecorder, createOwnWrites, parseKey } from '@sandlot/kube';
import { openOutboxes } from '@sandlot/service';
import type { ControllerParts } from '@sandlot/service';
import type { AgentSettings } from './agent/agent-client.ts';
import { Agents } from './agent/agents.ts';
import { AgentCalls } from './agent/calls.ts';
import { reconcileNode } from './nodes/reconcile-node.ts';
import { SilentNodes } from './nodes/silent-nodes.ts';
import { reconcile } from './reconcile.ts';
import { snapshotFactSource } from './telemetry/lifecycle-events.ts';
import { createSnapshotMetrics, measureSilentNodes } from './telemetry/metrics.ts';
import { createInformers } from './wiring/informers.ts';
import type { Places } from './wiring/informers.ts';
import { watchNodeSources, watchSources } from './wiring/sources.ts';

export interface SnapshotControllerOptions {
  readonly concurrency: number;
  readonly places: Places;
  readonly agents: AgentSettings;
}

/** Adds the controllers of SandboxSnapshots and of the labels of Nodes to a manager. */
export function addSnapshotController(
  parts: ControllerParts,
  { concurrency, places, agents: settings }: SnapshotControllerOptions,
): { close(): Promise<void> } {
  const { client, manager, instance, clock, random, log, kubeMetrics } = parts;
  const shared = { client, clock, random, log, metrics: kubeMetrics };
  const informers = createInformers(shared, places);
  const recorder = createEventRecorder({ ...shared, controller: 'sandlot.dev/snapshot-controller', instance });
  const snapshots = createOwnWrites({ informer: informers.snapshots, clock });
  const agents = new Agents({ ...settings, clock, pods: informers.agents.store });
  const ended = createChannelSource();
  const calls = new AgentCalls({ clock, log, onEnd: (key) => ended.push(key) });
  const metrics = createSnapshotMetrics(parts.registry, clock);
  const silent = new SilentNodes();
  measureSilentNodes(parts.registry, () => silent.count((node) => manager.owns(node)));
  const outbox = openOutboxes(parts)({ kind: 'snapshot', informer: informers.snapshots, ...snapshotFactSource });
  const deps = {
    ...{ client, clock, recorder, metrics, snapshots, agents, calls },
    classes: informers.classes.store,
    restoring: informers.restoring.store,
    nodes: informers.nodes.store,
    begun: new Set<string>(),
    placeless: new Map<string, number>(),
    known: informers.snapshots.store,
    namespaces: places.namespaces,
    silent,
    log,
  };
  manager.add({
    name: 'snapshot',
    // A quota is counted over a namespace, and `begun` is what this process alone knows of it.
    shardBy: (key) => parseKey(key).namespace ?? '',
    concurrency,
    sources: [ended, ...watchSources(informers)],
    reconcile: (key, context) => reconcile(deps, key, context),
  });
  manager.add({
    name: 'node',
    concurrency: 1,
    sources: watchNodeSources(informers),
    reconcile: (name, context) => reconcileNode(deps, name, context),
  });
  return {
    close: async () => {
      calls.close();
      snapshots[Symbol.dispose]();
      await Promise.all([recorder.flush(), outbox[Symbol.asyncDispose]()]);
    },
  };
}
