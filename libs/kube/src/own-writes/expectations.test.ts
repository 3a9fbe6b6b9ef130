import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createExpectations } from './expectations.ts';
import type { Expectations } from './expectations.ts';
import { noMetrics } from '../metrics.ts';

function setup(ttlMs?: number): { clock: FakeClock; expectations: Expectations; expired: string[] } {
  const clock = new FakeClock();
  const expired: string[] = [];
  const metrics = { ...noMetrics, countExpiredExpectation: (kind: string) => void expired.push(kind) };
  return { clock, expectations: createExpectations({ clock, metrics, ttlMs }), expired };
}

const counts = (expectations: Expectations, owner: string): [number, number] => {
  const { creates, deletes } = expectations.getPending(owner);
  return [creates, deletes];
};

describe('expectations', () => {
  it('are pending until they are observed', () => {
    const { expectations } = setup();
    expectations.expectCreate('pool', 'a');
    expectations.expectCreate('pool', 'b');
    expectations.expectDelete('pool', 'c');
    expect(expectations.getPending('pool')).toEqual({
      creates: 2,
      deletes: 1,
      createIds: new Set(['a', 'b']),
      deleteIds: new Set(['c']),
    });
    expectations.observeCreate('pool', 'a');
    expectations.observeDelete('pool', 'c');
    expect(counts(expectations, 'pool')).toEqual([1, 0]);
    expectations.observeCreate('pool', 'b');
    expect(counts(expectations, 'pool')).toEqual([0, 0]);
  });

  it('belong to one owner, and creating is not deleting', () => {
    const { expectations } = setup();
    expectations.expectCreate('pool', 'a');
    expectations.observeCreate('other', 'a');
    expectations.observeDelete('pool', 'a');
    expect([counts(expectations, 'pool'), counts(expectations, 'other')]).toEqual([
      [1, 0],
      [0, 0],
    ]);
  });

  it('count once when recorded twice', () => {
    const { expectations } = setup();
    expectations.expectCreate('pool', 'a');
    expectations.expectCreate('pool', 'a');
    expect(counts(expectations, 'pool')).toEqual([1, 0]);
  });

  it('expire unconfirmed, which is counted', async () => {
    const { clock, expectations, expired } = setup(30_000);
    expectations.expectCreate('pool', 'a');
    expectations.expectDelete('pool', 'b');
    await clock.advance(20_000);
    expectations.expectCreate('pool', 'c');
    await clock.advance(9_999);
    expect(counts(expectations, 'pool')).toEqual([2, 1]);
    await clock.advance(1);
    expect(counts(expectations, 'pool')).toEqual([1, 0]);
    expect(expired).toEqual(['create', 'delete']);
    await clock.advance(20_000);
    expect(counts(expectations, 'pool')).toEqual([0, 0]);
  });

  it('live for five minutes by default', async () => {
    const { clock, expectations } = setup();
    expectations.expectCreate('pool', 'a');
    await clock.advance(299_999);
    expect(counts(expectations, 'pool')).toEqual([1, 0]);
    await clock.advance(1);
    expect(counts(expectations, 'pool')).toEqual([0, 0]);
  });

  it('live on when they are recorded again', async () => {
    const { clock, expectations } = setup(1_000);
    expectations.expectCreate('pool', 'a');
    expectations.expectCreate('pool', 'b');
    await clock.advance(600);
    expectations.expectCreate('pool', 'a');
    await clock.advance(600);
    expect([...expectations.getPending('pool').createIds]).toEqual(['a']);
  });

  it('end with their owner', () => {
    const { expectations, expired } = setup();
    expectations.expectCreate('pool', 'a');
    expectations.forgetOwner('pool');
    expect([counts(expectations, 'pool'), expired]).toEqual([[0, 0], []]);
  });

  it('equal a model under any sequence of calls', async () => {
    const call = fc.record({
      kind: fc.constantFrom('expectCreate', 'expectDelete', 'observeCreate', 'observeDelete'),
      owner: fc.constantFrom('p', 'q'),
      id: fc.constantFrom('a', 'b', 'c'),
      thenMs: fc.constantFrom(0, 0, 400, 1_000),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 30 }), async (calls) => {
        const { clock, expectations } = setup(1_000);
        const model = new Map<string, number>();
        for (const { kind, owner, id, thenMs } of calls) {
          expectations[kind](owner, id);
          const of = `${owner} ${kind.replace(/expect|observe/, '')} ${id}`;
          if (kind.startsWith('expect')) model.set(of, clock.monotonic() + 1_000);
          else model.delete(of);
          await clock.advance(thenMs);
          for (const [entry, expiresMs] of model) if (expiresMs <= clock.monotonic()) model.delete(entry);
          for (const name of ['p', 'q']) {
            const { createIds, deleteIds } = expectations.getPending(name);
            const found = [
              ...[...createIds].map((x) => `${name} Create ${x}`),
              ...[...deleteIds].map((x) => `${name} Delete ${x}`),
            ];
            expect(found.sort()).toEqual([...model.keys()].filter((entry) => entry.startsWith(name)).sort());
          }
        }
      }),
    );
  });
});
