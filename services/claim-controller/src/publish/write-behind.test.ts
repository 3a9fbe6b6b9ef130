import type { SandboxClaim } from '@sandlot/api-types';
import { claim } from '@sandlot/api-types/testing';
import { KubeError } from '@sandlot/kube';
import type { CallOptions, JsonObject, KubeClient } from '@sandlot/kube';
import { silentLogger } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it } from 'vitest';
import { WriteBehind } from './write-behind.ts';

const WINDOW_MS = 750;

interface Setup {
  readonly answer?: (patch: JsonObject, signal: AbortSignal | undefined) => Promise<JsonObject>;
  readonly findSignal?: () => AbortSignal | undefined;
}

function setUp({ answer = (patch) => Promise.resolve(patch), findSignal }: Setup = {}) {
  const clock = new FakeClock();
  /** Every patch and when it was written, milliseconds. */
  const written: { readonly atMs: number; readonly patch: JsonObject }[] = [];
  const client = {
    mergePatch: (...[, , patch, options]: [unknown, unknown, JsonObject, CallOptions]) => {
      written.push({ atMs: clock.monotonic(), patch });
      return answer(patch, options.signal);
    },
  } as unknown as Pick<KubeClient, 'mergePatch'>;
  const claims = { get: () => undefined, write: (_key: string, call: () => Promise<SandboxClaim>) => call() };
  /** The claims whose next pass has to schedule their annotations again. */
  const failed: string[] = [];
  const onFailure = (key: string): void => void failed.push(key);
  const writeBehind = new WriteBehind({
    ...{ client, claims, clock, findSignal, onFailure },
    ...{ log: silentLogger, windowMs: WINDOW_MS },
  });
  return { clock, written, failed, writeBehind };
}

function refusal(status: 404 | 409): KubeError {
  const code = status === 404 ? 'NotFound' : 'Conflict';
  return new KubeError({
    code,
    status,
    verb: 'mergePatch',
    resource: 'sandboxclaims',
    key: 'default/job',
    message: 'no',
  });
}

const named = (name: string): SandboxClaim => claim({ metadata: { namespace: 'default', name, uid: `uid-${name}` } });

describe('annotations written behind', () => {
  it('are gathered into one patch', async () => {
    const { clock, written, writeBehind } = setUp();
    writeBehind.schedule(named('job'), { first: '1' });
    writeBehind.schedule(named('job'), { second: '2' });
    await clock.advance(WINDOW_MS);
    const patch = { metadata: { uid: 'uid-job', annotations: { first: '1', second: '2' } } };
    expect(written).toEqual([{ atMs: WINDOW_MS, patch }]);
  });

  it.each([
    ['scheduled again after a conflict', 409, ['default/job']],
    ['given up when the claim is gone', 404, []],
  ] as const)('are %s', async (_, status, wanted) => {
    const { clock, failed, writeBehind } = setUp({ answer: () => Promise.reject(refusal(status)) });
    writeBehind.schedule(named('job'), { first: '1' });
    await clock.advance(WINDOW_MS);
    expect(failed).toEqual(wanted);
  });

  it.each([
    [300, 340, true],
    [300, 360, false],
    [0, 60, false],
  ])('that were sent at once, and asked for after %i ms, are waited for if they take %i ms: %s', async (...times) => {
    const [askedMs, answeredMs, isAnswered] = times;
    const answer = async (patch: JsonObject): Promise<JsonObject> => {
      await clock.sleep(answeredMs + askedMs);
      return patch;
    };
    const { clock, writeBehind } = setUp({ answer });
    const sent = writeBehind.writeNow(named('job'), { first: '1' });
    await clock.advance(askedMs);
    const settled = sent.settle();
    await clock.advance(askedMs + 100);
    expect((await settled) !== undefined).toBe(isAnswered);
  });

  it('are left to the process that owns the claim by now', async () => {
    let signal: AbortSignal | undefined = new AbortController().signal;
    const { clock, written, failed, writeBehind } = setUp({ findSignal: () => signal });
    writeBehind.schedule(named('mine'), { first: '1' });
    await clock.advance(WINDOW_MS);
    signal = undefined;
    writeBehind.schedule(named('theirs'), { first: '1' });
    await clock.advance(WINDOW_MS);
    expect([written.length, failed]).toEqual([1, []]);
  });

  it('end with the term in which they were sent', async () => {
    const term = new AbortController();
    const { clock, failed, writeBehind } = setUp({
      findSignal: () => term.signal,
      answer: (_, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        }),
    });
    writeBehind.schedule(named('job'), { first: '1' });
    await clock.advance(WINDOW_MS);
    term.abort();
    await writeBehind.flush();
    expect(failed).toEqual([]);
  });

  it('follow within a second while no more than ten claims wait', async () => {
    const { clock, written, writeBehind } = setUp();
    for (let n = 0; n < 10; n += 1) writeBehind.schedule(named(`job-${n}`), { first: '1' });
    await clock.advance(1_000);
    expect(written).toHaveLength(10);
  });

  it('start at ten a second when more claims wait, and at most five seconds late', async () => {
    const { clock, written, writeBehind } = setUp();
    for (let n = 0; n < 300; n += 1) writeBehind.schedule(named(`job-${n}`), { first: '1' });
    await clock.advance(4_900);
    expect(written).toHaveLength(49);
    await clock.advance(100);
    expect(written).toHaveLength(300);
  });

  it('cost few writes for a stream of claims that live for three seconds', async () => {
    const { clock, written, writeBehind } = setUp();
    for (let second = 0; second < 20; second += 1) {
      const claims = Array.from({ length: 20 }, (_, n) => named(`job-${second}-${n}`));
      for (const one of claims) writeBehind.schedule(one, { first: '1' });
      clock.setTimeout(() => claims.forEach((one) => writeBehind.forget(one)), 3_000);
      await clock.advance(1_000);
    }
    // Of 400 claims: the first ones, and those that came when few others waited.
    expect(written.length).toBeLessThan(60);
  });
});
