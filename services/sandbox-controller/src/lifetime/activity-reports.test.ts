import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Harness, KEY } from '../../test/harness.ts';
import { ActivityReports } from './activity-reports.ts';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
  await h.startController();
  h.create({ idle: { suspendAfterSeconds: 60 } });
  await h.until(() => h.pod() !== undefined, 'there is a Pod');
  h.runPod();
  await h.untilReady();
});
afterEach(() => h[Symbol.asyncDispose]());

const report = (atMs: number, uid = h.sandbox().metadata.uid ?? ''): void =>
  h.bus.reportActivity({ ...KEY, uid, atMs });

describe('a Sandbox that gateways report as used', () => {
  it('is not idle until the reports stop, at the cost of few status writes', async () => {
    h.api.clearRequests();
    for (let half = 0; half < 6; half += 1) {
      report(h.clock.now());
      await h.elapse(30_000);
    }
    expect(h.sandbox().spec.operatingMode).not.toBe('Suspended');
    expect(Date.parse(h.status().lastActivityTime ?? '')).toBeGreaterThan(h.clock.now() - 60_000);
    expect(h.api.writes().length).toBeLessThan(8);
    await h.until(() => h.sandbox().spec.operatingMode === 'Suspended', 'idleness has suspended it');
  });

  it('ignores reports for another UID and reports from the future', async () => {
    report(h.clock.now() + 3_600_000);
    await h.elapse(30_000);
    report(h.clock.now(), 'another');
    await h.elapse(35_000);
    expect(h.sandbox().spec.operatingMode).toBe('Suspended');
  });
});

describe('reports in memory', () => {
  it('count in any order, and never ahead of our clock', async () => {
    const clock = new FakeClock(10_000);
    const uses = new ActivityReports(clock);
    expect(uses.lastUsedMs('u')).toBeUndefined();
    uses.record({ uid: 'u', atMs: 9_000 });
    uses.record({ uid: 'u', atMs: 4_000 });
    expect([uses.lastUsedMs('u'), uses.lastUsedMs('v'), uses.lastUsedMs(undefined)]).toEqual([
      9_000,
      undefined,
      undefined,
    ]);
    uses.record({ uid: 'u', atMs: 60_000 });
    expect(uses.lastUsedMs('u')).toBe(10_000);
  });
});
