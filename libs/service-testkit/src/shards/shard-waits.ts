import { setTimeout } from 'node:timers/promises';
import { systemClock } from '@sandlot/std';
import type { ShardedReplicas } from './sharded-replicas.ts';

const PATIENCE_MS = 120_000;
/** More than the renewals of a few leases. */
const REQUESTS_OF_A_WORKING_REPLICA = 5;

/** Asks ten times a second until the answer is true. Throws after two minutes. */
export async function waitUntil(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
    await setTimeout(100);
  }
}

export function waitForHolders(replicas: ShardedReplicas, count: number): Promise<void> {
  return waitUntil(`${count} replicas hold a shard`, () => replicas.listHolders().length === count);
}

/** Returns a function that waits until each of these shards has a later term than now. */
export function watchTerms(replicas: ShardedReplicas, shards: readonly number[]): () => Promise<void> {
  const listTokens = (): readonly number[] => shards.map((shard) => replicas.findTerm(shard)?.token ?? 0);
  const before = listTokens();
  return () =>
    waitUntil(`the shards ${shards.join(', ')} have other holders`, () =>
      listTokens().every((token, at) => token > (before[at] ?? 0)),
    );
}

/**
 * Waits until the replica, which went on just now, speaks to the API server again, so that what it had left to send has been sent.
 * `readLines` reads the audit log.
 */
export async function waitUntilReconnected(
  replica: string,
  readLines: () => Promise<readonly string[]>,
): Promise<void> {
  const sinceMs = systemClock.now();
  await waitUntil(`${replica} speaks to the API server`, async () => {
    const asked = (await readLines()).filter((line) => line.includes(`"username":"${replica}"`)).map(readStart);
    return asked.filter((startMs) => startMs > sinceMs).length > REQUESTS_OF_A_WORKING_REPLICA;
  });
}

function readStart(line: string): number {
  const { requestReceivedTimestamp } = JSON.parse(line) as { requestReceivedTimestamp: string };
  return Date.parse(requestReceivedTimestamp);
}
