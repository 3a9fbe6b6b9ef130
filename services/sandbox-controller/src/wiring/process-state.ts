import type { Sandbox } from '@sandlot/api-types';
import type { Bus } from '@sandlot/bus';
import { channelSource } from '@sandlot/kube';
import type { Source } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { TokenBucket } from '@sandlot/std';
import { Aftermath } from '../pacing/after-adoption.ts';
import { Patience } from '../pacing/quiet-start.ts';
import { RecentWrites } from '../writes/recent-writes.ts';
import { Refusals } from '../writes/refusals.ts';
import { EarlyReports } from '../lifetime/early-reports.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { Told } from '../troubles/reported-troubles.ts';
import { UseReports } from '../lifetime/activity-reports.ts';
import { WakeRequests } from '../wake/wake-requests.ts';

/** What the process remembers from pass to pass. It saves requests and noise; a restart may forget all of it. */
export interface Memory {
  readonly recent: RecentWrites;
  readonly patience: Patience;
  readonly aftermath: Aftermath;
  readonly wakes: WakeRequests;
  readonly reports: EarlyReports;
  readonly uses: UseReports;
  readonly refusals: Refusals;
  readonly told: Told;
  readonly questions: TokenBucket;
}

/** Questions about other people's Events: a few, whatever happens to all Sandboxes at once. */
const QUESTIONS = { perSecond: 2, burst: 20 };

export function createMemory(clock: Clock): Memory {
  return {
    recent: new RecentWrites(clock),
    patience: new Patience(),
    aftermath: new Aftermath(clock),
    wakes: new WakeRequests(clock),
    reports: new EarlyReports(clock),
    uses: new UseReports(clock),
    refusals: new Refusals(clock),
    told: new Told(clock),
    questions: new TokenBucket(QUESTIONS),
  };
}

/** What is known of the use of a Sandbox besides its status. */
export function useOf(
  sandbox: Sandbox,
  { reports, uses }: Pick<Memory, 'reports' | 'uses'>,
): Pick<Snapshot, 'reportSeenMs' | 'usedMs'> {
  return { reportSeenMs: reports.seenMs(sandbox), usedMs: uses.lastMs(sandbox.metadata.uid) };
}

/** Remembers requests to wake a Sandbox as they come, and has it looked at before what is merely due. */
export function wakeSource(bus: Bus, wakes: WakeRequests): Source & Disposable {
  const source = channelSource();
  const subscription = bus.onHint(
    'sandbox.wake.requested',
    ({ data: { namespace, name, uid }, traceparent, tracestate }) => {
      wakes.ask(uid, traceparent === undefined ? undefined : JSON.stringify({ traceparent, tracestate }));
      source.push(`${namespace}/${name}`, { priority: 1 });
    },
  );
  return { ...source, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
