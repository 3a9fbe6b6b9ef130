import { claim, sandbox } from '@sandlot/api-types/testing';
import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { InitCalls } from './init-calls.ts';
import { INIT_LIMITS } from './init-places.ts';
import { formatStart } from './initialisation.ts';

const FOREVER = new AbortController().signal;

let clock: FakeClock;
let isLeading: boolean;
let made: { readonly name: string; readonly signal: AbortSignal; readonly end: (error?: Error) => void }[];
let ended: (string | undefined)[];
let enqueued: string[];
let calls: InitCalls;
beforeEach(() => {
  [clock, isLeading, made, ended, enqueued] = [new FakeClock(), true, [], [], []];
  calls = new InitCalls({
    clock,
    call: ({ sandbox: { metadata }, signal }) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void => (error === undefined ? resolve() : reject(error));
        signal.addEventListener('abort', () => end(new Error('aborted')));
        made.push({ name: metadata.name ?? '', signal, end });
      }),
    onEnd: ({ error }) => ended.push(error?.message),
    enqueue: (key) => enqueued.push(key),
    isLeading: () => isLeading,
  });
});

const named = (name: string) => sandbox({ name, namespace: 'a', metadata: { uid: `uid-${name}` } });

/** Starts a call for a claim of this name. */
function start(name: string, isAwaited = true): Promise<boolean> {
  const one = named(name);
  const order = { claim: claim({ name, namespace: 'a' }), sandbox: one, start: formatStart(one) };
  return calls.start(order, { isAwaited, signal: FOREVER });
}

/** Starts that many calls of daemons that do not answer, and lets their passes end. */
async function startSlow(count: number): Promise<void> {
  const passes = Array.from({ length: count }, (_, index) => start(`slow${index}`));
  await clock.advance(50);
  expect(await Promise.all(passes)).toEqual(passes.map(() => false));
}

describe('a call of a daemon', () => {
  it('is over for its pass when the daemon answers at once, and enqueues nothing', async () => {
    const pass = start('job');
    made[0]?.end();
    expect(await pass).toBe(true);
    expect({ ended, enqueued }).toEqual({ ended: [undefined], enqueued: [] });
  });

  it('goes on without its pass after 50 ms, and its end enqueues the claim', async () => {
    await startSlow(1);
    expect(calls.find(named('slow0'))).toBeDefined();
    made[0]?.end(new Error('refused'));
    await clock.advance(0);
    expect({ ended, enqueued }).toEqual({ ended: ['refused'], enqueued: ['a/slow0'] });
    expect(calls.find(named('slow0'))).toBeUndefined();
  });

  it('is not waited for when eight of its namespace are slow, until one of them ends', async () => {
    await startSlow(8);
    const hasEnded = async (pass: Promise<boolean>): Promise<boolean> =>
      Promise.race([pass.then(() => true), clock.advance(0).then(() => false)]);
    expect(await hasEnded(start('ninth'))).toBe(true);
    for (const { end } of made.slice(0, 2)) end();
    await clock.advance(0);
    expect(await hasEnded(start('tenth'))).toBe(false);
  });

  it('has no effect once it is not needed any more', async () => {
    await startSlow(1);
    calls.abort(named('slow0'));
    await clock.advance(0);
    expect(made[0]?.signal.aborted).toBe(true);
    expect({ ended, enqueued }).toEqual({ ended: [], enqueued: [] });
  });

  it('waits for a place, and is not made when the process does not lead any more', async () => {
    const all = Array.from({ length: INIT_LIMITS.perTemplate + 2 }, (_, index) => start(`c${index}`, false));
    await Promise.all(all);
    expect(made).toHaveLength(INIT_LIMITS.perTemplate);
    made[0]?.end();
    await clock.advance(0);
    expect(made).toHaveLength(INIT_LIMITS.perTemplate + 1);
    isLeading = false;
    made[1]?.end();
    await clock.advance(0);
    expect(made).toHaveLength(INIT_LIMITS.perTemplate + 1);
    expect(enqueued).toEqual(['a/c0', 'a/c1']);
  });
});
