import { FakeClock } from '@sandlot/std/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Refused } from '../plane/protocol.ts';
import { Refusals } from './refusals.ts';

const DAY_MS = 24 * 3_600_000;
let clock: FakeClock;
let refusals: Refusals;

beforeEach(() => {
  clock = new FakeClock();
  refusals = new Refusals(clock);
});

const refuse = (host: string, more: Partial<Refused> = {}): void =>
  refusals.add({
    type: 'refused',
    namespace: 'n',
    uid: 's',
    claimUid: 'u',
    protocol: 'tls',
    host,
    port: 443,
    reason: 'not_listed',
    count: 1,
    last: new Date(clock.now()).toISOString(),
    ...more,
  });
const listHosts = (uid = 'u'): string[] => refusals.list(uid).map(({ host }) => host);

describe('the refusals of a claim', () => {
  it('are counted by destination, the newest first', async () => {
    refuse('a.com', { count: 2 });
    await clock.advance(1_000);
    refuse('a.com', { count: 3 });
    await clock.advance(1_000);
    refuse('B.com.', { protocol: 'dns', port: 0 });
    await clock.advance(1_000);
    refuse('a.com', { port: 8443, reason: 'port' });
    refuse('other.com', { claimUid: 'other' });
    const nowMs = clock.now();
    expect(refusals.list('u')).toEqual([
      { protocol: 'tls', host: 'a.com', port: 8443, reason: 'port', count: 1, lastMs: nowMs },
      { protocol: 'dns', host: 'b.com', reason: 'not_listed', count: 1, lastMs: nowMs - 1_000 },
      { protocol: 'tls', host: 'a.com', port: 443, reason: 'not_listed', count: 5, lastMs: nowMs - 2_000 },
    ]);
    expect(listHosts('unknown')).toEqual([]);
  });

  it('are forgotten with it', () => {
    refuse('a.com');
    refusals.forget('u');
    refusals.forget('unknown');
    expect(listHosts()).toEqual([]);
  });

  it('are forgotten seven days after the last one, and counted anew', async () => {
    refuse('old.com', { count: 9 });
    await clock.advance(DAY_MS);
    refuse('new.com');
    await clock.advance(6 * DAY_MS + 1);
    expect(listHosts()).toEqual(['new.com']);
    refuse('old.com');
    expect(refusals.list('u')[0]).toMatchObject({ host: 'old.com', count: 1 });
  });

  it('have no host with bytes that a terminal obeys', () => {
    refuse('\u001b[2Jevil\r\n\u202e.com');
    expect(listHosts()).toEqual(['?[2Jevil???.com']);
  });

  it('have no time that is still to come, and no host longer than a name', () => {
    refuse('-'.repeat(1_000), { last: '2999-01-01T00:00:00Z' });
    expect(refusals.list('u')).toMatchObject([{ host: '-'.repeat(253), lastMs: clock.now() }]);
  });
});

describe('at its bound', () => {
  it('a claim loses the oldest of the rarest destinations', async () => {
    refuse('often.com', { count: 2 });
    for (let index = 0; index < 99; index += 1) {
      await clock.advance(1);
      refuse(`host-${index}.com`);
    }
    refuse('later.com');
    expect(listHosts()).toHaveLength(100);
    expect(listHosts()).not.toContain('host-0.com');
    refuse('host-1.com');
    refuse('latest.com');
    expect(listHosts()).toEqual(expect.arrayContaining(['often.com', 'host-1.com', 'host-3.com', 'latest.com']));
    expect(listHosts()).not.toContain('host-2.com');
  });

  it('the claim goes that was refused something longest ago', () => {
    refuse('a.com', { claimUid: 'first' });
    refuse('a.com', { claimUid: 'second' });
    for (let index = 0; index < 9_998; index += 1) refuse('a.com', { claimUid: `u${index}` });
    refuse('a.com', { claimUid: 'first' });
    refuse('a.com', { claimUid: 'one-more' });
    expect(['first', 'second', 'u0', 'one-more'].map((uid) => listHosts(uid).length)).toEqual([1, 0, 1, 1]);
  });

  it('claims go until all destinations together are few enough', () => {
    const refuseAll = (claimUid: string): void => {
      for (let index = 0; index < 100; index += 1) refuse(`host-${index}.com`, { claimUid });
    };
    for (let index = 0; index < 1_000; index += 1) refuseAll(`u${index}`);
    expect([listHosts('u0').length, listHosts('u999').length]).toEqual([100, 100]);
    refuse('a.com', { claimUid: 'one-more' });
    expect([listHosts('u0').length, listHosts('u1').length, listHosts('one-more').length]).toEqual([0, 100, 1]);
  });
});
