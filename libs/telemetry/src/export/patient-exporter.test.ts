import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { PatientExporter } from './patient-exporter.ts';

const AWAY: ExportResult = { code: ExportResultCode.FAILED, error: new Error('connect ECONNREFUSED') };
const TAKEN: ExportResult = { code: ExportResultCode.SUCCESS };
const answers = (status: number): ExportResult => ({
  code: ExportResultCode.FAILED,
  error: Object.assign(new Error('the receiver says no'), { code: status }),
});

/** A receiver with one answer for all batches. */
class Receiver implements SpanExporter {
  answer = TAKEN;
  attempts = 0;
  isOpen = true;
  readonly taken: string[] = [];

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.attempts += 1;
    const result = this.answer;
    if (result.code === ExportResultCode.SUCCESS) this.taken.push(...spans.map(({ name }) => name));
    setImmediate(done, result);
  }

  async shutdown(): Promise<void> {
    this.isOpen = false;
  }
}

const batch = (...names: string[]): ReadableSpan[] => names.map((name) => ({ name })) as ReadableSpan[];

let clock: FakeClock;
let receiver: Receiver;
let lost: number[];
let exporter: PatientExporter;

beforeEach(() => {
  clock = new FakeClock();
  receiver = new Receiver();
  lost = [];
  exporter = new PatientExporter({ exporter: receiver, clock, maxSpans: 5, onLost: (spans) => lost.push(spans) });
});

const send = (spans: ReadableSpan[]): Promise<ExportResult> => new Promise((done) => exporter.export(spans, done));

/** Lets a pause pass and the answers after it arrive. */
async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('while the receiver is away', () => {
  it.each([
    ['does not answer', AWAY],
    ['is overloaded', answers(503)],
    ['asks for patience', answers(429)],
  ])('because it %s, batches are kept and sent in order when it is back', async (_, away) => {
    receiver.answer = away;
    expect(await send(batch('a', 'b'))).toBe(away);
    expect(await send(batch('c'))).toEqual(TAKEN);
    receiver.answer = TAKEN;
    await pass(1_000);
    expect(receiver.taken).toEqual(['a', 'b', 'c']);
    await send(batch('d'));
    expect(receiver.taken).toEqual(['a', 'b', 'c', 'd']);
    expect(lost).toEqual([]);
  });

  it('it is tried less and less often, at least every 15 s', async () => {
    receiver.answer = AWAY;
    await send(batch('a'));
    const asked: number[] = [];
    for (let second = 1; second <= 61; second += 1) {
      const before = receiver.attempts;
      await pass(1_000);
      if (receiver.attempts > before) asked.push(second);
    }
    expect(asked).toEqual([1, 3, 7, 15, 30, 45, 60]);
  });

  it('the oldest batches are lost and counted when there are too many', async () => {
    receiver.answer = AWAY;
    for (const name of ['a', 'b', 'c']) await send(batch(`${name}1`, `${name}2`));
    expect(lost).toEqual([2]);
    receiver.answer = TAKEN;
    await exporter.forceFlush();
    expect(receiver.taken).toEqual(['b1', 'b2', 'c1', 'c2']);
  });

  it('a flush during the retry sends no batch twice', async () => {
    receiver.answer = AWAY;
    await send(batch('a'));
    await send(batch('b'));
    receiver.answer = TAKEN;
    await Promise.all([exporter.forceFlush(), exporter.forceFlush(), pass(1_000)]);
    expect(receiver.taken).toEqual(['a', 'b']);
  });
});

describe('a batch that the receiver refuses', () => {
  it('is lost at once', async () => {
    receiver.answer = answers(400);
    expect(await send(batch('a', 'b'))).toBe(receiver.answer);
    expect(lost).toEqual([2]);
    await pass(60_000);
    expect(receiver.attempts).toBe(1);
  });

  it('does not hold up later batches', async () => {
    receiver.answer = AWAY;
    await send(batch('a'));
    receiver.answer = answers(413);
    await pass(1_000);
    expect(lost).toEqual([1]);
    receiver.answer = TAKEN;
    await send(batch('b'));
    expect(receiver.taken).toEqual(['b']);
  });
});

describe('at shutdown', () => {
  it('kept batches are sent if the receiver is there', async () => {
    receiver.answer = AWAY;
    await send(batch('a'));
    receiver.answer = TAKEN;
    await exporter.shutdown();
    expect(receiver).toMatchObject({ taken: ['a'], isOpen: false });
    expect(lost).toEqual([]);
  });

  it('kept batches are counted as lost if the receiver is away', async () => {
    receiver.answer = AWAY;
    await send(batch('a', 'b'));
    await exporter.shutdown();
    expect(lost).toEqual([2]);
    expect(receiver).toMatchObject({ attempts: 2, isOpen: false });
  });
});
