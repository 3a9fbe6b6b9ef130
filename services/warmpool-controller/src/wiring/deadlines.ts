import type { SandboxWarmPool } from '@sandlot/api-types';
import { listDeadlinesAt } from '@sandlot/jobs/deadline';
import type { Deadline } from '@sandlot/jobs/deadline';
import { findNextEdgeMs } from '../sizing/schedule.ts';
import type { Timetable } from '../sizing/timetable.ts';

const NONE: readonly Deadline[] = [];

/** When a pool needs a pass although nothing changes: the next moment at which one of its schedules opens or closes. */
export function listDeadlines(pool: SandboxWarmPool, nowMs: number, timetable: Timetable): readonly Deadline[] {
  const { metadata, spec } = pool;
  if (metadata.deletionTimestamp !== undefined || spec.schedules === undefined) return NONE;
  return listDeadlinesAt(pool, { 'pool-schedule': findNextEdgeMs(timetable.windows(spec.schedules, nowMs)) });
}
