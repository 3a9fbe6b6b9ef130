import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getKey } from '../objects/object.ts';
import { Cluster } from '../../test/cluster.ts';
import type { Process } from '../../test/cluster.ts';
import { requeueAfter } from './result.ts';

const FAR_MS = 3_600_000;

/** The value that the last pass saw for each key. Undefined: the object did not exist. */
type Seen = Map<string, number | undefined>;

/** Starts a process whose passes record the value they see and requeue the key after an hour. */
function start(cluster: Cluster, identity: string): Process & { readonly seen: Seen } {
  const seen: Seen = new Map();
  const process = cluster.start({
    identity,
    reconcile: async (key) => {
      seen.set(key, process.informer.store.get(key)?.value);
      return requeueAfter(FAR_MS, 'nothing changes');
    },
  });
  return { ...process, seen };
}

/** The holder cannot renew its lease and loses it. */
const cutNetwork = ({ network }: Process): void => void (network.weather = () => ({ delayMs: 0, fault: 'refused' }));
const restoreNetwork = ({ network }: Process): void => void (network.weather = () => ({ delayMs: 0 }));

const TERM_MS = 60_000;

describe('a standby', () => {
  it('queues no keys', async () => {
    const cluster = new Cluster();
    start(cluster, 'pod-1');
    await cluster.clock.advance(100);
    const standby = start(cluster, 'pod-2');
    for (let i = 0; i < 500; i++) {
      cluster.things.put(`gone-${i}`, 1);
      await cluster.clock.advance(1);
      cluster.things.remove(`gone-${i}`);
      standby.hints.push(`ns/hint-${i}`, { delayMs: i });
    }
    cluster.things.put('kept', 7);
    await cluster.clock.advance(1_000);
    expect(standby.queue.getStats()).toMatchObject({ depth: 0, running: 0 });
    expect(standby.queue.clear()).toEqual([]);
  });

  it('misses no change while the lead changes hands', async () => {
    const cluster = new Cluster();
    const leader = start(cluster, 'pod-1');
    await cluster.clock.advance(100);
    const standby = start(cluster, 'pod-2');
    cluster.things.put('a', 1);
    await cluster.clock.advance(100);
    leader.stop();
    // One change per turn of the event loop, before, during and after the handover.
    for (let value = 2; value < 60; value++) {
      cluster.things.put('a', value);
      await Promise.resolve();
    }
    await cluster.clock.advance(100);
    expect([standby.manager.isLeader(), standby.seen.get('ns/a')]).toEqual([true, 59]);
  });

  it('drops requeues and retries when its term ends', async () => {
    const cluster = new Cluster();
    cluster.things.put('a', 1);
    const process = start(cluster, 'pod-1');
    await cluster.clock.advance(100);
    cutNetwork(process);
    await cluster.clock.advance(TERM_MS);
    expect(process.manager.isLeader()).toBe(false);
    await cluster.clock.advance(FAR_MS);
    expect([process.keys, process.queue.depth]).toEqual([['ns/a'], 0]);
    restoreNetwork(process);
    await cluster.clock.advance(TERM_MS);
    expect(process.keys).toEqual(['ns/a', 'ns/a']);
  });

  it('reconciles the keys of objects that were deleted between two of its terms', async () => {
    const cluster = new Cluster();
    cluster.things.put('a', 1);
    const process = start(cluster, 'pod-1');
    await cluster.clock.advance(100);
    cutNetwork(process);
    await cluster.clock.advance(TERM_MS);
    cluster.things.remove('a');
    await cluster.clock.advance(100);
    restoreNetwork(process);
    await cluster.clock.advance(TERM_MS);
    expect([...process.seen]).toEqual([['ns/a', undefined]]);
  });
});

describe('under random changes of objects, leases and watches', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const who = fc.constantFrom(0, 1);
  const move = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('put' as const), name }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), name }) },
    fc.record({ kind: fc.constantFrom('cut' as const, 'mend' as const), who }),
    fc.record({ kind: fc.constantFrom('break' as const, 'forget' as const) }),
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 500, 20_000) }) },
  );
  type Move = typeof move extends fc.Arbitrary<infer M> ? M : never;

  let value = 0;
  function perform(cluster: Cluster, processes: readonly Process[], step: Move): Promise<void> | undefined {
    const { things, clock } = cluster;
    if (step.kind === 'wait') return clock.advance(step.ms);
    if (step.kind === 'put') things.put(step.name, ++value, `uid-${step.name}-${value % 3}`);
    else if (step.kind === 'remove') things.remove(step.name);
    else if (step.kind === 'cut' || step.kind === 'mend') {
      for (const process of processes.slice(step.who, step.who + 1))
        (step.kind === 'cut' ? cutNetwork : restoreNetwork)(process);
    } else {
      if (step.kind === 'forget') things.compact();
      things.break('Network');
    }
    return undefined;
  }

  it('the leader reconciles the latest state of every object, and the standby queues no key', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 40 }), async (steps) => {
        const cluster = new Cluster();
        const processes = [start(cluster, 'pod-0'), start(cluster, 'pod-1')];
        for (const step of steps) await perform(cluster, processes, step);
        processes.forEach(restoreNetwork);
        await cluster.clock.advance(2 * TERM_MS);
        const [leader, ...others] = processes.filter(({ manager }) => manager.isLeader());
        expect([leader !== undefined, others]).toEqual([true, []]);
        for (const [key, object] of [...cluster.things.objects.values()].map(
          (thing) => [getKey(thing), thing] as const,
        )) {
          expect(leader?.seen.get(key)).toBe(object.value);
        }
        // For every deleted object, the last pass of this process must have seen that it is gone.
        for (const [key, seen] of leader?.seen ?? []) {
          if (!cluster.things.objects.has(key.slice('ns/'.length))) expect(seen).toBeUndefined();
        }
        for (const { manager, queue } of processes) if (!manager.isLeader()) expect(queue.clear()).toEqual([]);
      }),
      { numRuns: 150 },
    );
  }, 30_000);
});
