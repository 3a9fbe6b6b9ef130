import { pacing } from '@sandlot/pacing';
import { TokenBucket } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { ActivityReports } from '../lifetime/activity-reports.ts';
import { EarlyActivity } from '../lifetime/early-activity.ts';
import { AdoptionHolds } from '../pacing/adoption-holds.ts';
import { QuietStarts } from '../pacing/quiet-start.ts';
import { ReportedTroubles } from '../troubles/reported-troubles.ts';
import { WakeRequests } from '../wake/wake-requests.ts';

import { RejectedWrites } from '../writes/rejected-writes.ts';

/** What the process keeps from pass to pass. It saves requests and noise; a restart may lose all of it. */
export interface ProcessState {
  readonly quietStarts: QuietStarts;
  readonly adoptionHolds: AdoptionHolds;
  readonly wakes: WakeRequests;
  readonly earlyActivity: EarlyActivity;
  readonly activityReports: ActivityReports;
  readonly rejectedWrites: RejectedWrites;
  readonly reportedTroubles: ReportedTroubles;
  /** Limits the lists of Events that explain troubles. */
  readonly eventLists: TokenBucket;
}

export function createProcessState(clock: Clock): ProcessState {
  return {
    quietStarts: new QuietStarts(),
    adoptionHolds: new AdoptionHolds(clock),
    wakes: new WakeRequests(clock),
    earlyActivity: new EarlyActivity(clock),
    activityReports: new ActivityReports(clock),
    rejectedWrites: new RejectedWrites(clock),
    reportedTroubles: new ReportedTroubles(clock),
    eventLists: new TokenBucket(pacing.causeReads),
  };
}
