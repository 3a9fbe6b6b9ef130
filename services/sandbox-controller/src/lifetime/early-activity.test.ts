import type { Sandbox } from '@sandlot/api-types';
import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { EarlyActivity } from './early-activity.ts';
import { NOW_MS, notebook } from '../../test/builders.ts';

const reporting = (time: string) => notebook({ metadata: { annotations: { 'sandlot.dev/last-activity-at': time } } });
const AHEAD = '2100-01-01T00:00:00Z';

const seenMs = (activity: EarlyActivity, sandbox: Sandbox): number | undefined => {
  activity.record(sandbox);
  return activity.seenMs(sandbox);
};

it('dates a report ahead of our clock when it is first seen, and not again when its time comes', async () => {
  const clock = new FakeClock(NOW_MS);
  const activity = new EarlyActivity(clock);
  const soon = reporting(new Date(NOW_MS + 60_000).toISOString());
  expect(seenMs(activity, soon)).toBe(NOW_MS);
  await clock.advance(90_000);
  expect(seenMs(activity, soon)).toBe(NOW_MS);
  expect(seenMs(activity, reporting(AHEAD))).toBe(NOW_MS + 90_000);
});

it('does not date any other report', () => {
  const activity = new EarlyActivity(new FakeClock(NOW_MS));
  expect(seenMs(activity, notebook())).toBeUndefined();
  expect(seenMs(activity, reporting('yesterday'))).toBeUndefined();
  expect(seenMs(activity, reporting('2026-01-01T11:59:00Z'))).toBeUndefined();
});

it('forgets a Sandbox that is gone', async () => {
  const clock = new FakeClock(NOW_MS);
  const activity = new EarlyActivity(clock);
  activity.record(reporting(AHEAD));
  activity.forget(notebook());
  await clock.advance(1_000);
  expect(seenMs(activity, reporting(AHEAD))).toBe(NOW_MS + 1_000);
});
