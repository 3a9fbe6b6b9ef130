import type { Candidate } from './candidates.ts';
import { refreshOne } from './refresh-one.ts';
import type { Outcome, RefreshDeps } from './refresh-one.ts';

/** What the run does beside the deps of one refresh. */
export interface Run extends RefreshDeps {
  readonly concurrency: number;
  readonly tell: (outcome: Outcome) => void;
}

const STOPPED = 'not tried: the memory of another Sandbox could not be saved';

/**
 * Refreshes all of them, some at a time, and tells each outcome. Once a Sandbox that was woken could not be saved again, no
 * other one is woken: with a full disk each would lose what it has.
 */
export async function refreshAll(run: Run, candidates: readonly Candidate[]): Promise<Outcome[]> {
  const queue = [...candidates];
  const outcomes: Outcome[] = [];
  let isStopped = false;
  const add = (outcome: Outcome): void => {
    outcomes.push(outcome);
    run.tell(outcome);
  };
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const why = next.obstacle ?? (isStopped ? STOPPED : undefined);
      const outcome = why === undefined ? await refreshOne(run, next) : refuse(next, why);
      isStopped ||= outcome.isLost === true;
      add(outcome);
    }
  };
  await Promise.all(Array.from({ length: run.concurrency }, work));
  return outcomes;
}

function refuse({ sandbox: { metadata } }: Candidate, problem: string): Outcome {
  return { namespace: metadata.namespace ?? '', name: metadata.name ?? '', problem };
}
