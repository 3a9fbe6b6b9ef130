import type { Step } from './steps.ts';

/** Steps that run at a time. Most of them use one core. */
const LANES = 2;

/**
 * Runs the steps and returns their results in the order of the steps. Neighbours that may overlap run two at a time, each
 * other step alone.
 */
export async function runInLanes<S extends Pick<Step, 'mayOverlap'>, R>(
  steps: readonly S[],
  run: (step: S) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (const group of groups(steps)) results.push(...(await runGroup(group, run)));
  return results;
}

/** Neighbours that may overlap form a group; each other step is a group of its own. */
function groups<S extends Pick<Step, 'mayOverlap'>>(steps: readonly S[]): S[][] {
  const found: S[][] = [];
  let before: S | undefined;
  for (const step of steps) {
    if (step.mayOverlap === true && before?.mayOverlap === true) found.at(-1)?.push(step);
    else found.push([step]);
    before = step;
  }
  return found;
}

async function runGroup<S, R>(group: readonly S[], run: (step: S) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  // All lanes take from this one iterator.
  const waiting = group.entries();
  const lane = async (): Promise<void> => {
    for (const [index, step] of waiting) results[index] = await run(step);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}
