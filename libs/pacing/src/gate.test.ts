import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Gate } from './gate.ts';

const FOREVER = new AbortController().signal;

/** A gate before a server that answers after `answerMs`, which a test may change. */
function setup(answerMs: number) {
  const clock = new FakeClock();
  const server = { answerMs, inFlight: 0, most: 0, done: 0 };
  const gate = new Gate(clock);
  const send = async (): Promise<void> => {
    server.inFlight += 1;
    server.most = Math.max(server.most, server.inFlight);
    await clock.sleep(server.answerMs);
    server.inFlight -= 1;
    server.done += 1;
  };
  const many = (count: number): void => {
    for (let i = 0; i < count; i += 1) void gate.pass(send, new AbortController().signal);
  };
  return { clock, gate, server, send, many };
}

describe('a gate', () => {
  it('lets more and more requests through while answers come fast', async () => {
    const { clock, gate, server, many } = setup(10);
    many(2_000);
    await clock.advance(10);
    expect(server.most).toBeLessThanOrEqual(5);
    await clock.advance(2_000);
    expect(gate.limit).toBe(32);
    expect(server.most).toBe(32);
  });

  it('steps back to one at a time while answers are slow, and comes back when they are fast again', async () => {
    const { clock, gate, server, many } = setup(10);
    many(20_000);
    await clock.advance(1_000);
    server.answerMs = 200;
    await clock.advance(2_000);
    expect(gate.limit).toBe(1);
    server.answerMs = 10;
    await clock.advance(1_500);
    expect(gate.limit).toBeGreaterThan(16);
  });

  it('takes for usual what a server that became slower for good does', async () => {
    const { clock, gate, server, many } = setup(30);
    many(4_000);
    await clock.advance(1_000);
    server.answerMs = 120;
    await clock.advance(60_000);
    expect(gate.limit).toBeGreaterThan(16);
  });

  it('takes no answer within 25 ms for slow', async () => {
    const { clock, gate, server, many } = setup(1);
    many(4_000);
    await clock.advance(100);
    server.answerMs = 25;
    await clock.advance(1_500);
    expect(gate.limit).toBe(32);
  });

  it('keeps the order in which requests came', async () => {
    const { clock, gate, send } = setup(10);
    const order: number[] = [];
    for (let i = 0; i < 50; i += 1) {
      void gate.pass(async () => {
        order.push(i);
        await send();
      }, FOREVER);
    }
    await clock.advance(1_000);
    expect(order).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });

  it('hands the place of a request that gave up to the next', async () => {
    const { clock, gate, server, send, many } = setup(10);
    const giveUp = new AbortController();
    many(4);
    const gone = gate.pass(send, giveUp.signal);
    const settled = expect(gone).rejects.toThrow('too late');
    many(1);
    giveUp.abort(new Error('too late'));
    await settled;
    await clock.advance(100);
    expect(server.done).toBe(5);
    await expect(gate.pass(send, giveUp.signal)).rejects.toThrow('too late');
  });

  it('frees the place of a request that failed', async () => {
    const { clock, gate, server, many } = setup(10);
    const failing = Array.from({ length: 10 }, () => gate.pass(() => Promise.reject(new Error('refused')), FOREVER));
    for (const each of failing) await expect(each).rejects.toThrow('refused');
    many(3);
    await clock.advance(100);
    expect(server.done).toBe(3);
  });

  it('serves everybody and never more at a time than it says, however fast or slow answers are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 80 }), async (answers) => {
        const clock = new FakeClock();
        const gate = new Gate(clock);
        let [inFlight, done] = [0, 0];
        for (const answerMs of answers) {
          void gate.pass(async () => {
            inFlight += 1;
            expect(inFlight).toBeLessThanOrEqual(gate.limit);
            await clock.sleep(answerMs);
            inFlight -= 1;
            done += 1;
          }, FOREVER);
        }
        await clock.advance(50_000);
        expect(done).toBe(answers.length);
      }),
      { numRuns: 50 },
    );
  });
});
