// Bursts of warm claims, and their removal.
import { sandboxClaims, sandboxes } from '@sandlot/api-types';
import { isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { claimObject } from './objects.ts';
import { buildLatencies, Observer } from './observer.ts';
import type { Latencies } from './observer.ts';
import { waitUntilFull } from './pool.ts';
import { findPlace, listEverywhere } from './places.ts';
import { pause, runInParallel } from './shapes.ts';
import { NAMESPACE } from './stage.ts';
import type { Stage } from './stage.ts';

export interface Burst {
  /** The claims are `<prefix>-<number>`. */
  readonly prefix: string;
  readonly claims: number;
}

/** Creates the claims at once and waits until all are Ready. */
export async function runBurst({ client, places }: Stage, { prefix, claims }: Burst): Promise<Latencies> {
  await using observer = await Observer.watch(client, places);
  const names = Array.from({ length: claims }, (_, index) => `${prefix}-${index}`);
  const sent = names.map(async (name) => {
    observer.recordSending(name);
    await client.create(sandboxClaims, claimObject(name, {}, findPlace(places, name)));
  });
  await Promise.all(sent);
  await observer.waitForReadyCount(claims);
  return buildLatencies(observer.times.values());
}

/** Deletes the claims, and waits until only the `members` of the full pool and `others` are left. */
export async function clear(
  stage: Stage,
  { prefix, claims }: Burst,
  { members, others = 0 }: { readonly members: number; readonly others?: number },
): Promise<void> {
  const { client, places } = stage;
  await runInParallel(claims, async (index) => {
    const name = `${prefix}-${index}`;
    await deleteClaim(client, name, findPlace(places, name));
  });
  const left = async (): Promise<number> => (await listEverywhere(stage, sandboxes)).length;
  await waitUntilFull(stage, members);
  while ((await left()) > members + others) await pause(500);
}

/** Deletes a claim, and tries again when a busy API server did not answer: the deletion may or may not have happened. */
export async function deleteClaim(client: KubeClient, name: string, namespace = NAMESPACE): Promise<void> {
  try {
    await client.delete(sandboxClaims, { namespace, name });
  } catch (error) {
    if (isNotFound(error)) return;
    if (!isUnknownOutcome(error)) throw error;
    await pause(1_000);
    await deleteClaim(client, name, namespace);
  }
}
