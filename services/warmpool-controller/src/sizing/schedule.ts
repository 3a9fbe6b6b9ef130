import type { SandboxWarmPoolSpec } from '@sandlot/api-types';

export type Schedule = NonNullable<SandboxWarmPoolSpec['schedules']>[number];

/** A schedule at one moment. Times are wall-clock milliseconds. */
export interface Window {
  readonly schedule: Schedule;
  readonly open: boolean;
  /** When it opens or closes next; undefined when it never opens again. */
  readonly changesAtMs: number | undefined;
  /** Why the schedule can never open; it counts as closed. */
  readonly problem?: string | undefined;
}

/** The next moment at which one of the windows opens or closes, epoch milliseconds; undefined when none ever does. */
export function findNextEdgeMs(windows: readonly Window[]): number | undefined {
  const edges = windows.flatMap(({ changesAtMs }) => changesAtMs ?? []);
  return edges.length === 0 ? undefined : Math.min(...edges);
}
