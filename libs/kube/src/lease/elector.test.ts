import { FakeClock } from '@sandlot/std/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Candidate, LeaseServer } from '../../test/election.ts';
import type { CandidateOptions, Weather } from '../../test/election.ts';
import { LeaseElector, LeaseLostError } from './elector.ts';

function setup(): { clock: FakeClock; server: LeaseServer; candidate: (o?: CandidateOptions) => Candidate } {
  const clock = new FakeClock();
  const server = new LeaseServer(clock);
  return { clock, server, candidate: (options) => new Candidate(server, options).start() };
}

const refused = (): Weather => ({ delayMs: 0, fault: 'refused' });

describe('a lease', () => {
  it('is created by the first candidate and renewed every two seconds', async () => {
    const { clock, server, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    expect(a.leads).toBe(true);
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2030-01-01T00:00:00.000000Z',
      renewTime: '2030-01-01T00:00:00.000000Z',
      leaseTransitions: 1,
    });
    await clock.advance(4_000);
    expect(server.lease?.spec).toMatchObject({
      acquireTime: '2030-01-01T00:00:00.000000Z',
      renewTime: '2030-01-01T00:00:04.000000Z',
    });
  });

  it('stays with a holder that renews it', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    const b = candidate({ identity: 'b' });
    await clock.advance(600_000);
    expect([a.leads, b.leads, a.terms.length]).toEqual([true, false, 1]);
  });

  it('goes to a standby 15 s after the standby saw the last renewal, even if wall clocks differ', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a', wallOffsetMs: -86_400_000 });
    await clock.advance(0);
    const b = candidate({ identity: 'b', wallOffsetMs: 86_400_000 });
    await clock.advance(3_000);
    a.kill();
    await clock.advance(14_000);
    expect(b.leads).toBe(false);
    await clock.advance(4_500);
    expect(b.leads).toBe(true);
    expect(b.terms.at(-1)?.token).toBe(2);
  });

  it('returns at once to a container that restarts with the same identity, with a new term', async () => {
    const { clock, candidate } = setup();
    const before = candidate({ identity: 'pod-1' });
    await clock.advance(5_000);
    before.kill();
    const after = candidate({ identity: 'pod-1' });
    await clock.advance(1);
    expect(after.leads).toBe(true);
    expect([before.terms[0]?.token, after.terms[0]?.token]).toEqual([1, 2]);
  });

  it('goes to a standby within a second when the holder is reported gone three times in a row', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    let isAlive = true;
    const b = candidate({ identity: 'b', isGone: async (holder) => holder === 'a' && !isAlive });
    await clock.advance(60_000);
    isAlive = false;
    await clock.advance(400);
    isAlive = true;
    await clock.advance(60_000);
    expect([a.leads, b.leads]).toEqual([true, false]);
    isAlive = false;
    a.kill();
    await clock.advance(1_000);
    expect(b.leads).toBe(true);
    expect(b.terms.at(-1)?.token).toBe(2);
  });

  it('is lost by a live holder at its next renewal after a false report that the holder is gone', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    const b = candidate({ identity: 'b', isGone: async () => true });
    await clock.advance(3_500);
    expect([a.leads, b.leads]).toEqual([false, true]);
    await clock.advance(60_000);
    expect([a.leads, b.leads]).toEqual([false, true]);
  });

  it('is released when the holder stops, and a standby that watches takes it at once', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    const b = candidate({ identity: 'b' });
    await clock.advance(10_000);
    void a.stop();
    await clock.advance(1);
    expect(b.leads).toBe(true);
  });

  it('has no holder after a release and keeps its number of terms', async () => {
    const { clock, server, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    void a.stop();
    await clock.advance(0);
    expect(server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 });
  });

  it('is taken within a few seconds of a release by a standby without permission to watch', async () => {
    const { clock, server, candidate } = setup();
    server.refuseWatches = true;
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    const b = candidate({ identity: 'b' });
    await clock.advance(10_000);
    void a.stop();
    await clock.advance(4_400);
    expect(b.leads).toBe(true);
  });

  it('is asked for every few seconds when it was left to others and the API server then refuses', async () => {
    const { clock, server, candidate } = setup();
    server.write({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 1 });
    let [calls, isAway] = [0, false];
    const weather = (): Weather => {
      calls += 1;
      return isAway ? refused() : { delayMs: 0 };
    };
    const a = candidate({ identity: 'a', weather, patienceMs: () => 250 });
    await clock.advance(100);
    isAway = true;
    await clock.advance(20_000);
    expect(calls).toBeGreaterThan(6);
    expect(calls).toBeLessThan(14);
    isAway = false;
    await clock.advance(3_000);
    expect(a.leads).toBe(true);
  });

  it('is held until its holder has drained after a stop', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    a.drainMs = 40_000;
    await clock.advance(0);
    const b = candidate({ identity: 'b' });
    await clock.advance(1_000);
    void a.stop();
    await clock.advance(39_999);
    expect([a.leads, b.leads]).toEqual([true, false]);
    await clock.advance(2);
    expect([a.leads, b.leads]).toEqual([false, true]);
  });

  it('is given up 10 s after the last renewal, before another candidate can take it', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    const b = candidate({ identity: 'b' });
    await clock.advance(4_000);
    a.weather = refused;
    await clock.advance(9_999);
    expect(a.leads).toBe(true);
    await clock.advance(1);
    expect(a.leads).toBe(false);
    expect(a.terms[0]?.signal.reason).toBeInstanceOf(LeaseLostError);
    expect(b.leads).toBe(false);
    await clock.advance(10_000);
    expect(b.leads).toBe(true);
  });

  it('is given up in time even if a renewal hangs', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    a.weather = () => ({ delayMs: 1_000_000 });
    await clock.advance(10_000);
    expect(a.leads).toBe(false);
  });

  it('can be taken again by a candidate that lost it', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(0);
    a.weather = refused;
    await clock.advance(60_000);
    expect(a.leads).toBe(false);
    a.weather = () => ({ delayMs: 0 });
    await clock.advance(5_000);
    expect(a.leads).toBe(true);
    expect(a.terms.map((term) => term.token)).toEqual([1, 2]);
  });

  it.each<[string, (server: LeaseServer) => void, boolean]>([
    [
      'is lost at the next renewal when another candidate has taken it',
      (s) => s.write({ holderIdentity: 'thief' }),
      false,
    ],
    ['is lost when another process has taken it under our identity', (s) => s.write({ leaseTransitions: 9 }), false],
    ['is lost when it is deleted', (s) => s.remove(), false],
    ['survives an edit of its metadata', (s) => s.write({}, { labels: { a: 'b' } }), true],
  ])('%s', async (...[, act, leads]) => {
    const { clock, server, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(1_000);
    act(server);
    await clock.advance(1_500);
    expect(a.terms[0]?.signal.aborted).toBe(!leads);
    await clock.advance(20_000);
    expect(a.terms[0]?.signal.aborted).toBe(!leads);
  });

  it('is held although the answer to the write that took it was lost', async () => {
    const { clock, candidate } = setup();
    const weather: Weather[] = [{ delayMs: 0 }, { delayMs: 0, fault: 'answer lost' }];
    const a = candidate({ identity: 'a', weather: () => weather.shift() ?? { delayMs: 0 } });
    await clock.advance(4_400);
    expect(a.leads).toBe(true);
  });

  it('survives a renewal whose answer was lost', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a' });
    await clock.advance(1_000);
    a.weather = () => ({ delayMs: 0, fault: 'answer lost' });
    await clock.advance(1_500);
    a.weather = () => ({ delayMs: 0 });
    await clock.advance(60_000);
    expect([a.leads, a.terms.length]).toEqual([true, 1]);
  });

  it('dates the start of a term before the write that began it', async () => {
    const { clock, candidate } = setup();
    const a = candidate({ identity: 'a', weather: () => ({ delayMs: 500 }) });
    await clock.advance(2_000);
    expect(a.leads).toBe(true);
    expect(a.terms[0]?.sinceMs).toBe(1_000);
  });

  it("is released when the holder's work fails, and run() rejects with that error", async () => {
    const { clock, server } = setup();
    const client = new Candidate(server).client();
    const elector = new LeaseElector({ name: 'lease', namespace: 'ns', identity: 'a', client, clock });
    const running = elector.run(new AbortController().signal, () => Promise.reject(new Error('work')));
    const failed = expect(running).rejects.toThrow('work');
    await clock.advance(0);
    await failed;
    expect(server.lease?.spec?.holderIdentity).toBe('');
  });
});

describe('any election', () => {
  const weather = fc.record({
    delayMs: fc.constantFrom(0, 10, 500, 3_000, 6_000),
    fault: fc.constantFrom<Weather['fault'][]>(undefined, undefined, undefined, 'refused', 'answer lost'),
  });
  const machine = fc.record({
    rate: fc.constantFrom(0.87, 1, 1.13),
    wallOffsetMs: fc.constantFrom(-3_600_000, 0, 3_600_000),
    weather: fc.array(weather, { minLength: 1, maxLength: 8 }),
    drainMs: fc.constantFrom(0, 1_000, 20_000),
  });
  const event = fc.record({
    kind: fc.constantFrom('kill' as const, 'stop' as const, 'pause' as const),
    who: fc.nat(2),
    waitMs: fc.constantFrom(0, 100, 3_000, 12_000, 20_000),
  });

  it('never has two holders, and soon has one after faults end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(machine, machine, machine),
        fc.array(event, { maxLength: 12 }),
        fc.infiniteStream(fc.double({ min: 0, max: 0.99, noNaN: true })),
        async (machines, events, randoms) => {
          const clock = new FakeClock();
          const server = new LeaseServer(clock);
          const all: Candidate[] = [];
          let most = 0;
          const count = (): void => {
            most = Math.max(most, all.filter((candidate) => candidate.leads).length);
          };
          const random = (): number => Number(randoms.next().value);
          const start = (index: number): Candidate => {
            const m = machines[index]!;
            let calls = 0;
            const at = (): Weather => m.weather[calls++ % m.weather.length]!;
            const { rate, wallOffsetMs } = m;
            const candidate = new Candidate(server, {
              identity: `pod-${index}`,
              random,
              rate,
              wallOffsetMs,
              weather: at,
            });
            candidate.drainMs = m.drainMs;
            all.push(candidate);
            return candidate.start(count);
          };
          const present = machines.map((_, index) => start(index));
          for (const { kind, who, waitMs } of events) {
            const candidate = present[who]!;
            // The next container of a pod starts only after the previous one has ended.
            const replace = (): void => {
              if (present[who] === candidate) present[who] = start(who);
            };
            if (kind === 'kill') candidate.kill();
            if (kind === 'kill') replace();
            if (kind === 'stop') void candidate.stop()?.then(replace);
            await clock.advance(waitMs);
            count();
          }
          await clock.advance(60_000);
          for (const candidate of all) candidate.weather = () => ({ delayMs: 5 });
          await clock.advance(60_000);
          count();
          expect(most).toBe(1);
          expect(all.filter((candidate) => candidate.leads)).toHaveLength(1);
          const tokens = all.flatMap((candidate) => candidate.terms.map((term) => term.token));
          expect(new Set(tokens).size).toBe(tokens.length);
        },
      ),
      { numRuns: 60 },
    );
  }, 30_000);
});
