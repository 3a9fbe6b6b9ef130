import { pool } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { listDeadlines } from './deadlines.ts';
import { Timetable } from '../sizing/timetable.ts';

const NOON = Date.UTC(2026, 0, 1, 12);
const HOUR = 3_600_000;
const morning = { name: 'morning', cron: '0 8 * * *', durationSeconds: 3_600, replicas: 5 };
const noon = { name: 'noon', cron: '0 12 * * *', durationSeconds: 1_800, replicas: 9 };
const never = { name: 'never', cron: '0 0 30 2 *', durationSeconds: 60, replicas: 1 };

describe('the deadline of a pool', () => {
  it.each([
    ['is absent without schedules', undefined, undefined],
    ['is absent for a schedule that never opens', [never], undefined],
    ['is the time at which its schedule opens', [morning], 20 * HOUR],
    ['is the time at which the first of its schedules closes', [morning, noon], HOUR / 2],
  ])('%s', (_, schedules, inMs) => {
    const subject = pool({ spec: schedules === undefined ? {} : { schedules } });
    const due = listDeadlines(subject, NOON, new Timetable());
    expect(due.map(({ purpose, dueAtMs }) => [purpose, dueAtMs - NOON])).toEqual(
      inMs === undefined ? [] : [['pool-schedule', inMs]],
    );
  });

  it('is absent for a pool that is being deleted', () => {
    const gone = pool({ metadata: { deletionTimestamp: '2026-01-01T12:00:00Z' }, spec: { schedules: [morning] } });
    expect(listDeadlines(gone, NOON, new Timetable())).toEqual([]);
  });
});
