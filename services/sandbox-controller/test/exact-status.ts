import { nameHash } from '@sandlot/api-types';
import type { Condition, Sandbox } from '@sandlot/api-types';
import type { Snapshot } from '../src/plan/snapshot.ts';
import { EARLIER, NOW, NOW_MS, notebook, makePod, published, buildSnapshot } from './builders.ts';
import type { PodParts, SnapshotParts } from './builders.ts';

// Typed clients compare the whole status, so these tests list every field.

type Spec = Sandbox['spec'];
/** A minute after the time of every test. */
export const LATER_MS = NOW_MS + 60_000;
export const LATER = '2026-01-01T12:01:00Z';
export const selector = `agents.x-k8s.io/sandbox-name-hash=${nameHash('notebook')}`;
export const base = { observedGeneration: 1, startedAt: EARLIER };
export const withPod = { ...base, selector, replicas: 1 };
export const onNode = { ...withPod, podIPs: ['10.0.0.7'], nodeName: 'node-1' };
export const named = { service: 'notebook', serviceFQDN: 'notebook.team-a.svc.cluster.local' };

type Text = readonly [reason: string, message: string, since?: string];

export function condition(type: string, status: Condition['status'], [reason, message, since = NOW]: Text): Condition {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: since };
}
export const ready = (message = 'Pod is Ready', since = NOW): Condition =>
  condition('Ready', 'True', ['DependenciesReady', message, since]);
export const notReady = (reason: string, message: string, since = NOW): Condition =>
  condition('Ready', 'False', [reason, message, since]);
export const waiting = (message: string, since = NOW): Condition => notReady('DependenciesNotReady', message, since);
export const scheduled = condition('PodScheduled', 'True', ['PodScheduled', '']);
export const awake = (since = NOW): Condition =>
  condition('Suspended', 'False', ['NotSuspended', 'Sandbox is not suspended', since]);
export const falling = (since = NOW): Condition =>
  condition('Suspended', 'False', ['PodTerminating', 'Pod is terminating. Sandbox is suspending', since]);
export const asleep = (since = NOW): Condition =>
  condition('Suspended', 'True', ['PodTerminated', 'Pod has been terminated. Sandbox is suspended', since]);
export const finished = (reason: string, message: string): Condition =>
  condition('Finished', 'True', [reason, message]);

/** The Sandbox with one Pod that it owns. */
export function having(pod: PodParts, spec: Partial<Spec> = {}, parts: SnapshotParts = {}): Snapshot {
  const sandbox = parts.sandbox ?? notebook({ spec });
  return buildSnapshot({ sandbox, ownedPods: [makePod(sandbox, pod)], ...parts });
}
/** The same Sandbox a minute after `snapshot` was published, with another spec and other objects around it. */
export function aMinuteLater(
  snapshot: Snapshot,
  spec: Partial<Spec>,
  parts: Omit<SnapshotParts, 'sandbox'> = {},
): Snapshot {
  const before = published(snapshot);
  return buildSnapshot({ nowMs: LATER_MS, sandbox: { ...before, spec: { ...before.spec, ...spec } }, ...parts });
}
