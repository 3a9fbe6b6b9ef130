import type { DeadlineStore } from '@sandlot/jobs';
import type { Manager } from '@sandlot/kube';
import type { ProcessParts } from './open-process.ts';

/** Where a process stores its deadlines in addition to its timers. */
export interface DeadlinePlace {
  /** Absent: no Redis. */
  readonly store: DeadlineStore | undefined;
  /** The stores of the shards, if the work is divided: each has the deadlines of its own objects. */
  readonly shardStores?: readonly DeadlineStore[] | undefined;
  readonly auditEveryMs: number;
}

/** The dependencies of a controller. */
export interface ControllerParts extends ProcessParts {
  readonly manager: Manager;
  readonly deadlines: DeadlinePlace;
  /** Templates that always have their own label in metrics. Others have one while the limit of labels allows it. */
  readonly templateLabels: readonly string[];
}
