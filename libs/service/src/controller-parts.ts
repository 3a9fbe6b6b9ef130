import type { DeadlineStore } from '@sandlot/jobs';
import type { Manager } from '@sandlot/kube';
import type { ProcessParts } from './open-process.ts';

/** Where the deadlines of a process are kept besides its timers. */
export interface DeadlinePlace {
  /** Absent: no Redis. */
  readonly store: DeadlineStore | undefined;
  readonly auditEveryMs: number;
}

/** What a controller is built from. */
export interface ControllerParts extends ProcessParts {
  readonly manager: Manager;
  readonly deadlines: DeadlinePlace;
  /** Templates that have a label of their own in metrics; of others, as many as fit. */
  readonly templateLabels: readonly string[];
}
