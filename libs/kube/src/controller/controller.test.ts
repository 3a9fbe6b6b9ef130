import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { KubeError } from '../errors.ts';
import type { KubeErrorCode } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { ReconcileMetric } from '../metrics.ts';
import { createWorkQueue } from '../queue/workqueue.ts';
import type { WorkQueue } from '../queue/workqueue.ts';
import { Controller } from './controller.ts';
import type { ControllerOptions, ReconcileContext } from './controller.ts';
import { done, requeueAfter, RetryableError, TerminalError } from './result.ts';

interface Run {
  readonly key: string;
  readonly atMs: number;
  readonly attempt: number;
}

interface Setup {
  readonly clock: FakeClock;
  readonly queue: WorkQueue;
  readonly controller: Controller;
  readonly runs: Run[];
  readonly outcomes: string[];
  /** Namespaces that the caches do not show. */
  readonly forbidden: Set<string>;
  readonly term: AbortController;
  readonly running: Promise<void>;
}

function start(reconcile: ControllerOptions['reconcile'], options: Partial<ControllerOptions> = {}): Setup {
  const clock = new FakeClock();
  const random = (): number => 0;
  const runs: Run[] = [];
  const outcomes: string[] = [];
  const metrics = { ...noMetrics, observeReconcile: ({ result }: ReconcileMetric) => void outcomes.push(result) };
  const queue = createWorkQueue({ name: 'test', clock, random });
  const forbidden = new Set<string>();
  const isForbidden = (namespace: string): boolean => forbidden.has(namespace);
  const controller = new Controller(
    {
      name: 'test',
      concurrency: 2,
      sources: [],
      reconcile: (key, context) => {
        runs.push({ key, atMs: clock.monotonic(), attempt: context.attempt });
        return reconcile(key, context);
      },
      ...options,
    },
    { clock, random, metrics, log: silentLogger, queue, isForbidden },
  );
  const term = new AbortController();
  return {
    clock,
    queue,
    controller,
    runs,
    outcomes,
    term,
    forbidden,
    running: controller.run({ signal: term.signal, owns: () => true }),
  };
}

const failWith = (error: Error) => (): Promise<never> => Promise.reject(error);

const kubeError = (code: KubeErrorCode, retryAfterMs?: number): KubeError =>
  new KubeError({ verb: 'get', resource: 'pods', key: 'ns/a', message: 'scripted', code, retryAfterMs });

/** A reconcile that runs until its signal aborts. */
const hang = (_: string, { signal }: ReconcileContext): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('the result of a reconcile', () => {
  it.each<[string, ControllerOptions['reconcile'], string, [number, number][]]>([
    ['done: does not run again before a change', async () => done, 'done', []],
    [
      'requeueAfter: runs again after that time',
      async () => requeueAfter(500, 'expiry'),
      'requeue',
      [
        [500, 0],
        [1_000, 0],
      ],
    ],
    ['a terminal error: does not run again before a change', failWith(new TerminalError('bad name')), 'terminal', []],
    [
      'a retryable error: backs off',
      failWith(new RetryableError('later')),
      'retry',
      [
        [5, 1],
        [15, 2],
        [35, 3],
      ],
    ],
    [
      'a retryable error with retryAfterMs: waits that long',
      failWith(new RetryableError('later', { retryAfterMs: 400 })),
      'retry',
      [
        [400, 0],
        [800, 0],
      ],
    ],
    [
      'an API error with Retry-After: waits that long',
      failWith(kubeError('TooManyRequests', 600)),
      'error',
      [[600, 0]],
    ],
    [
      'a conflict: backs off',
      failWith(kubeError('Conflict')),
      'conflict',
      [
        [5, 1],
        [15, 2],
      ],
    ],
    [
      'any other error: backs off',
      failWith(new Error('bug')),
      'error',
      [
        [5, 1],
        [15, 2],
      ],
    ],
    ['a thrown value that is no Error: backs off', failWith('text' as unknown as Error), 'error', [[5, 1]]],
    [
      'a synchronous throw: backs off',
      () => {
        throw new Error('sync');
      },
      'error',
      [[5, 1]],
    ],
  ])('%s', async (...[, reconcile, outcome, retries]) => {
    const { clock, queue, runs, outcomes } = start(reconcile);
    queue.add('ns/a');
    await clock.advance(1_000);
    expect(runs[0]).toEqual({ key: 'ns/a', atMs: 0, attempt: 0 });
    const later = runs.slice(1).map(({ atMs, attempt }) => [atMs, attempt]);
    expect(later.slice(0, retries.length)).toEqual(retries);
    expect(later.length === 0).toBe(retries.length === 0);
    expect(new Set(outcomes)).toEqual(new Set([outcome]));
  });

  it('resets the backoff after a success', async () => {
    const results = [failWith(new Error('1')), failWith(new Error('2')), async () => done, failWith(new Error('3'))];
    const { clock, queue, runs } = start(() => (results.shift() ?? (async () => done))());
    queue.add('ns/a');
    await clock.advance(100);
    queue.add('ns/a');
    await clock.advance(100);
    expect(runs.map((run) => run.attempt)).toEqual([0, 1, 2, 0, 1]);
  });
});

describe('a controller', () => {
  it('works on as many keys at once as its concurrency allows, and never twice on one key', async () => {
    let most = 0;
    const working = new Set<string>();
    const { clock, queue } = start(async (key) => {
      expect(working).not.toContain(key);
      working.add(key);
      most = Math.max(most, working.size);
      queue.add(key);
      await clock.sleep(10);
      working.delete(key);
      return done;
    });
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await clock.advance(100);
    expect(most).toBe(2);
  });

  it('gives each run a logger with the controller, the key and a reconcileId', async () => {
    const ids: string[] = [];
    const fields: object[] = [];
    const log = { ...silentLogger, child: (more: object) => (fields.push(more), silentLogger) };
    const clock = new FakeClock();
    const queue = createWorkQueue({ name: 'test', clock });
    const controller = new Controller(
      {
        name: 'pods',
        concurrency: 1,
        sources: [],
        reconcile: async (_, context) => {
          context.log.info({}, 'working');
          context.log.info({}, 'still working');
          ids.push(context.reconcileId);
          return done;
        },
      },
      { clock, random: () => 0.5, metrics: noMetrics, log, queue, isForbidden: () => false },
    );
    void controller.run({ signal: new AbortController().signal, owns: () => true });
    queue.add('ns/a');
    await clock.advance(0);
    expect(ids).toEqual(['800000000000']);
    expect(fields).toEqual([{ controller: 'pods', key: 'ns/a', reconcileId: '800000000000' }]);
  });

  it('waits with the keys of a namespace that the caches do not show, and with no others', async () => {
    const { clock, queue, runs, outcomes, forbidden } = start(async () => done);
    forbidden.add('hidden');
    for (const key of ['hidden/a', 'shown/a', 'node']) queue.add(key);
    await clock.advance(4_000);
    expect(runs.map(({ key }) => key)).toEqual(['shown/a', 'node']);
    expect(outcomes.toSorted()).toEqual(['done', 'done', 'requeue']);
    forbidden.clear();
    await clock.advance(1_000);
    expect(runs.map(({ key }) => key)).toEqual(['shown/a', 'node', 'hidden/a']);
  });

  it('reconciles a key and handles the outcome inside `within`', async () => {
    const order: string[] = [];
    const { clock, queue, outcomes, term, running } = start(failWith(new TerminalError('no')), {
      within: async (key, run) => {
        order.push(`begin ${key}`);
        await run();
        order.push(`end ${key} after ${outcomes.length} counted`);
      },
    });
    queue.add('a');
    await clock.advance(0);
    expect(order).toEqual(['begin a', 'end a after 0 counted']);
    expect(outcomes).toEqual(['terminal']);
    term.abort();
    await running;
  });

  it('aborts a run that exceeds its deadline, and retries it', async () => {
    const { clock, queue, runs, outcomes } = start(hang, { deadlineMs: 1_000 });
    queue.add('ns/a');
    await clock.advance(1_004);
    expect([runs.length, outcomes]).toEqual([1, ['error']]);
    await clock.advance(1);
    expect(runs.at(-1)).toEqual({ key: 'ns/a', atMs: 1_005, attempt: 1 });
  });

  it('aborts and awaits its runs when its term ends, and enqueues their keys again in the next term', async () => {
    const { clock, queue, controller, outcomes, term, running } = start(hang);
    queue.add('ns/a');
    queue.add('ns/b');
    queue.add('ns/c');
    await clock.advance(0);
    term.abort(new Error('lease lost'));
    await running;
    expect(outcomes).toEqual(['aborted', 'aborted']);
    expect([queue.depth, clock.nextTimerMs()]).toEqual([0, undefined]);
    void controller.run({ signal: new AbortController().signal, owns: () => true });
    await clock.advance(0);
    expect(queue.getStats()).toMatchObject({ depth: 1, running: 2 });
  });

  it('ends when its queue is shut down and drained', async () => {
    const { clock, queue, runs, running } = start(async () => done);
    queue.add('ns/a');
    queue.add('ns/b');
    const drained = queue.shutDown();
    await clock.advance(0);
    await Promise.all([drained, running]);
    expect(runs).toHaveLength(2);
  });
});

describe('isMoving', () => {
  it('is true while runs respect their deadline', async () => {
    const { clock, queue, controller } = start(hang, { deadlineMs: 1_000 });
    queue.add('ns/a');
    await clock.advance(300_000);
    expect(controller.isMoving()).toBe(true);
  });

  it('is false when a run ignores its signal', async () => {
    const { clock, queue, controller } = start(() => new Promise(() => undefined), { deadlineMs: 1_000 });
    queue.add('ns/a');
    await clock.advance(61_000);
    expect(controller.isMoving()).toBe(true);
    await clock.advance(1);
    expect(controller.isMoving()).toBe(false);
  });

  it('is true while the controller waits for the lease with queued keys', async () => {
    const { clock, queue, controller, term, running } = start(async () => done);
    term.abort();
    await running;
    queue.add('ns/a');
    await clock.advance(1_000_000);
    expect(controller.isMoving()).toBe(true);
  });
});
