import { sandboxes } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Observer } from './observer.ts';
import { listEverywhere } from './places.ts';
import { pause } from './shapes.ts';
import type { Stage } from './stage.ts';

const LIMIT_MS = 180_000;
const POLL_MS = 100;

/**
 * Waits until no Sandbox and no Pod is left of the claims that the observer saw. Returns the time since it saw the first claim sent, in
 * milliseconds. A life ends here: the garbage collector deletes both after the claim, and a rate that ignores it leaves work behind.
 */
export async function waitUntilGone(stage: Stage, { times }: Observer): Promise<number> {
  const all = [...times.values()];
  const names = new Set(all.flatMap(({ sandbox }) => sandbox ?? []));
  const deadlineMs = performance.now() + LIMIT_MS;
  for (let left = Infinity; left > 0;) {
    if (performance.now() > deadlineMs) throw new Error(`${left} Sandboxes and Pods are left after ${LIMIT_MS} ms`);
    await pause(POLL_MS);
    left = await countLeft(stage, names);
  }
  return performance.now() - Math.min(...all.map(({ sentMs }) => sentMs));
}

/** The Sandboxes of these names, and the Pods that belong to one. */
async function countLeft(stage: Stage, names: ReadonlySet<string>): Promise<number> {
  const [boxes, workloads] = await Promise.all([listEverywhere(stage, sandboxes), listEverywhere(stage, pods)]);
  const owners = workloads.map(({ metadata }) => metadata.ownerReferences?.[0]?.name ?? '');
  return [...boxes.map(({ metadata }) => metadata.name ?? ''), ...owners].filter((name) => names.has(name)).length;
}
