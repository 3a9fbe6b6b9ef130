import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { EarlyReports } from './early-reports.ts';
import { NOW_MS, notebook } from '../../test/builders.ts';

const reporting = (time: string) => notebook({ metadata: { annotations: { 'sandlot.dev/last-activity-at': time } } });
const AHEAD = '2100-01-01T00:00:00Z';

it('a report ahead of our clock counts from when it was first seen, and not again when its time comes', async () => {
  const clock = new FakeClock(NOW_MS);
  const reports = new EarlyReports(clock);
  const soon = reporting(new Date(NOW_MS + 60_000).toISOString());
  expect(reports.seenMs(soon)).toBe(NOW_MS);
  await clock.advance(90_000);
  expect(reports.seenMs(soon)).toBe(NOW_MS);
  expect(reports.seenMs(reporting(AHEAD))).toBe(NOW_MS + 90_000);
});

it('any other report counts as it says', () => {
  const reports = new EarlyReports(new FakeClock(NOW_MS));
  expect(reports.seenMs(notebook())).toBeUndefined();
  expect(reports.seenMs(reporting('yesterday'))).toBeUndefined();
  expect(reports.seenMs(reporting('2026-01-01T11:59:00Z'))).toBeUndefined();
});

it('what is gone is forgotten', async () => {
  const clock = new FakeClock(NOW_MS);
  const reports = new EarlyReports(clock);
  reports.seenMs(reporting(AHEAD));
  reports.forget(notebook());
  await clock.advance(1_000);
  expect(reports.seenMs(reporting(AHEAD))).toBe(NOW_MS + 1_000);
});
