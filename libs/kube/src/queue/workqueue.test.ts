import { switchOffPacing } from '@sandlot/pacing';
import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noMetrics } from '../metrics.ts';
import type { QueueSample } from '../metrics.ts';
import { createWorkQueue } from './workqueue.ts';
import type { WorkQueue, WorkQueueOptions } from './workqueue.ts';

const never = new AbortController().signal;

function setup(options: Partial<WorkQueueOptions> = {}): { clock: FakeClock; queue: WorkQueue } {
  const clock = new FakeClock();
  return { clock, queue: createWorkQueue({ name: 'test', clock, random: () => 0, ...options }) };
}

/** Takes and finishes keys until none is waiting. */
async function takeAll(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) {
    const key = (await queue.get(never)) ?? '';
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

describe('work queue', () => {
  it('returns a key once even if it was added several times', async () => {
    const { queue } = setup();
    queue.add('a');
    queue.add('b');
    queue.add('a');
    expect(queue.depth).toBe(2);
    expect(await takeAll(queue)).toEqual(['a', 'b']);
  });

  it('holds back a key that is in progress and returns it once more afterwards', async () => {
    const { queue } = setup();
    queue.add('a');
    await queue.get(never);
    queue.add('a');
    queue.add('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(await takeAll(queue)).toEqual(['a']);
  });

  it('keeps the higher priority of merged adds', async () => {
    const { queue } = setup();
    queue.add('a', { priority: -100 });
    queue.add('b');
    queue.add('a', { priority: 5 });
    queue.add('a', { priority: -5 });
    expect(await takeAll(queue)).toEqual(['a', 'b']);
  });

  it('keeps the higher priority of adds during a run', async () => {
    const { queue } = setup();
    queue.add('a');
    await queue.get(never);
    queue.add('a', { priority: 1 });
    queue.add('a', { priority: 9 });
    queue.add('b', { priority: 5 });
    queue.done('a');
    expect(await takeAll(queue)).toEqual(['a', 'b']);
  });

  it('retries a key with the priority it was taken with', async () => {
    const { clock, queue } = setup();
    queue.add('a', { priority: -100 });
    await queue.get(never);
    queue.addRateLimited('a');
    queue.done('a');
    await clock.advance(10);
    queue.add('b');
    expect(await takeAll(queue)).toEqual(['b', 'a']);
  });

  it('drops queued and delayed keys and backoffs when cleared, while runs continue', async () => {
    const { clock, queue } = setup();
    for (const key of ['running', 'failed', 'waiting']) queue.add(key);
    await queue.get(never);
    await queue.get(never);
    queue.addRateLimited('failed');
    queue.done('failed');
    queue.addAfter('later', 1_000);
    queue.add('running');
    expect([...queue.clear()].sort()).toEqual(['failed', 'later', 'running', 'waiting']);
    expect([queue.countRetries('failed'), clock.nextTimerMs()]).toEqual([0, undefined]);
    queue.done('running');
    expect(queue.getStats()).toMatchObject({ depth: 0, running: 0 });
    queue.add('running');
    expect(await takeAll(queue)).toEqual(['running']);
  });

  it('notifies one waiting taker per key', async () => {
    const { queue } = setup();
    const taken = Promise.all([queue.get(never), queue.get(never)]);
    queue.add('a');
    queue.add('b');
    expect((await taken).sort()).toEqual(['a', 'b']);
  });

  it('passes a key to the next taker when the notified one has aborted', async () => {
    const { queue } = setup();
    const impatient = new AbortController();
    const first = queue.get(impatient.signal);
    const second = queue.get(never);
    queue.add('a');
    impatient.abort();
    expect(await Promise.all([first, second])).toEqual([undefined, 'a']);
  });

  it.each<[string, number[], number]>([
    ['uses the earliest of several delays', [500, 100, 300], 100],
    ['adds a key without a delay at once', [0], 0],
    ['supports delays beyond 2^31 ms', [2 ** 32], 2 ** 32],
  ])('%s', async (...[, delays, dueMs]) => {
    const { clock, queue } = setup();
    for (const delay of delays) queue.addAfter('a', delay);
    if (dueMs > 0) await clock.advance(dueMs - 1);
    expect(queue.depth).toBe(dueMs > 0 ? 0 : 1);
    await clock.advance(1);
    expect(await takeAll(queue)).toEqual(['a']);
    await clock.advance(1_000);
    expect(queue.depth).toBe(0);
  });

  it('returns delayed keys in order of their due times, with their highest priority', async () => {
    const { clock, queue } = setup();
    queue.addAfter('late', 30);
    queue.addAfter('a', 20, { priority: 1 });
    queue.addAfter('a', 25, { priority: 7 });
    queue.add('b', { priority: 5 });
    await clock.advance(20);
    expect(await takeAll(queue)).toEqual(['a', 'b']);
    await clock.advance(10);
    expect(await takeAll(queue)).toEqual(['late']);
  });

  it('doubles the delay of a failing key from 5 ms to a minute, until forget is called', async () => {
    const { clock, queue } = setup();
    const delays: number[] = [];
    for (let n = 0; n < 16; n++) {
      queue.addRateLimited('a');
      delays.push(clock.nextTimerMs() ?? 0);
      await clock.advance(60_000);
      await takeAll(queue);
    }
    expect(delays.slice(0, 5)).toEqual([5, 10, 20, 40, 80]);
    expect(delays.slice(-2)).toEqual([60_000, 60_000]);
    expect(queue.countRetries('a')).toBe(16);
    queue.forget('a');
    expect(queue.countRetries('a')).toBe(0);
    queue.addRateLimited('a');
    expect(clock.nextTimerMs()).toBe(5);
  });

  it('spreads the retries of many keys', async () => {
    const { clock, queue } = setup({ retryRate: { perSecond: 10, burst: 2 } });
    for (const key of ['a', 'b', 'c', 'd']) queue.addRateLimited(key);
    await clock.advance(5);
    expect(await takeAll(queue)).toEqual(['a', 'b']);
    await clock.advance(95);
    expect(await takeAll(queue)).toEqual(['c']);
    await clock.advance(100);
    expect(await takeAll(queue)).toEqual(['d']);
  });

  it.each([
    ['500 at once and 100 a second with pacing.requeues', '', [500, 100]],
    ['all at once without it', 'requeues', [2_000, 0]],
  ] as const)('requeues 2,000 keys that failed together: %s', async (_, off, wanted) => {
    using _off = switchOffPacing(off);
    const { clock, queue } = setup();
    for (let n = 0; n < 2_000; n += 1) queue.addRateLimited(`key-${n}`);
    await clock.advance(5);
    const atOnce = (await takeAll(queue)).length;
    await clock.advance(1_000);
    expect([atOnce, (await takeAll(queue)).length]).toEqual(wanted);
  });

  it('finishes queued keys and runs when shut down, and accepts no new keys', async () => {
    const { clock, queue } = setup();
    queue.add('running');
    queue.add('waiting');
    queue.addAfter('later', 100);
    await queue.get(never);
    let drained = false;
    const shutdown = queue.shutDown().then(() => (drained = true));
    queue.add('new');
    queue.addAfter('new', 1);
    queue.addRateLimited('running');
    queue.done('running');
    await clock.advance(1_000);
    expect(drained).toBe(false);
    expect(await takeAll(queue)).toEqual(['waiting']);
    await shutdown;
    expect(await queue.get(never)).toBeUndefined();
  });

  it('resolves waiting takers with undefined when it is shut down', async () => {
    const { queue } = setup();
    const taken = queue.get(never);
    await queue.shutDown();
    expect(await taken).toBeUndefined();
  });

  it('reports waiting and working times of keys to its metrics', async () => {
    const observed: [string, number][] = [];
    let sample: (() => QueueSample) | undefined;
    const { clock, queue } = setup({
      metrics: {
        ...noMetrics,
        observeQueueWait: (_, seconds) => observed.push(['waited', seconds]),
        observeQueueWork: (_, seconds) => observed.push(['worked', seconds]),
        countQueueRetry: () => observed.push(['retried', 1]),
        watchQueue: (_, read) => (sample = read),
      },
    });
    queue.add('a');
    queue.add('b');
    await clock.advance(2_000);
    await queue.get(never);
    await clock.advance(1_000);
    await queue.get(never);
    await clock.advance(3_000);
    expect(sample?.()).toEqual({ depth: 0, running: 2, unfinishedSeconds: 7, longestRunningSeconds: 4 });
    expect(queue.getStats()).toEqual({ depth: 0, running: 2, longestRunningMs: 4_000 });
    queue.done('a');
    queue.addRateLimited('a');
    queue.done('unknown');
    expect(observed).toEqual([
      ['waited', 2],
      ['waited', 3],
      ['worked', 4],
      ['retried', 1],
    ]);
  });

  it('uses the given order', async () => {
    const stack: string[] = [];
    const order = {
      push: (key: string) => void stack.push(key),
      raise: () => undefined,
      pop: () => stack.pop(),
      get size() {
        return stack.length;
      },
    };
    const { queue } = setup({ order });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect(await takeAll(queue)).toEqual(['c', 'b', 'a']);
  });
});

describe('any use of a work queue', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const priority = fc.constantFrom(-100, 0, 5);
  const delayMs = fc.constantFrom(0, 1, 50, 5_000);
  const command = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), key, priority }),
    fc.record({ kind: fc.constant('addAfter' as const), key, priority, delayMs }),
    fc.record({ kind: fc.constant('addRateLimited' as const), key }),
    fc.record({ kind: fc.constant('forget' as const), key }),
    fc.record({ kind: fc.constant('advance' as const), ms: fc.constantFrom(0, 1, 10, 100) }),
  );
  type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

  function perform(queue: WorkQueue, clock: FakeClock, c: Command): Promise<void> | undefined {
    if (c.kind === 'advance') return clock.advance(c.ms);
    if (c.kind === 'addAfter') queue.addAfter(c.key, c.delayMs, c);
    else if (c.kind === 'add') queue.add(c.key, c);
    else queue[c.kind](c.key);
    return undefined;
  }

  const asksForRun = (c: Command): c is Exclude<Command, { kind: 'forget' | 'advance' }> =>
    c.kind !== 'forget' && c.kind !== 'advance';

  it('never runs a key twice at once and runs every key after its last add', async () => {
    const commands = fc.array(command, { maxLength: 60 });
    const workMs = fc.array(fc.constantFrom(0, 1, 30, 300), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(commands, workMs, fc.integer({ min: 1, max: 4 }), async (todo, work, workers) => {
        const { clock, queue } = setup();
        const stop = new AbortController();
        const running = new Set<string>();
        const lastStart = new Map<string, number>();
        const lastAdd = new Map<string, number>();
        let runs = 0;
        let moment = 0;
        const worker = async (): Promise<void> => {
          for (let k = await queue.get(stop.signal); k !== undefined; k = await queue.get(stop.signal)) {
            expect(running).not.toContain(k);
            running.add(k);
            lastStart.set(k, moment++);
            await clock.sleep(work[runs++ % work.length] ?? 0);
            running.delete(k);
            queue.done(k);
          }
        };
        const working = Promise.all(Array.from({ length: workers }, worker));
        for (const c of todo) {
          if (asksForRun(c)) lastAdd.set(c.key, moment++);
          await perform(queue, clock, c);
        }
        await clock.advance(600_000);
        for (const [k, at] of lastAdd) expect(lastStart.get(k)).toBeGreaterThan(at);
        expect(queue.getStats()).toMatchObject({ depth: 0, running: 0 });
        stop.abort();
        await working;
      }),
    );
  }, 30_000);
});
