import type { Step } from './steps.ts';

/** Steps of the back lane that run at a time. Most of them use one core. */
const BEHIND = 2;

type Placed = Pick<Step, 'name' | 'lane' | 'needs'>;

/**
 * Runs the steps and returns their results in the order of the steps. Neighbours with a lane run beside each other, each other step
 * alone.
 */
export async function runInLanes<S extends Placed, R>(steps: readonly S[], run: (step: S) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const group of groups(steps)) results.push(...(await runGroup(group, run)));
  return results;
}

/** Neighbours with a lane form a group; each other step is a group of its own. */
function groups<S extends Placed>(steps: readonly S[]): S[][] {
  const found: S[][] = [];
  let before: S | undefined;
  for (const step of steps) {
    if (step.lane !== undefined && before?.lane !== undefined) found.at(-1)?.push(step);
    else found.push([step]);
    before = step;
  }
  return found;
}

async function runGroup<S extends Placed, R>(group: readonly S[], run: (step: S) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const ends = new Map(group.map(({ name }) => [name, Promise.withResolvers<undefined>()]));
  const take = async (waiting: Iterable<[number, S]>): Promise<void> => {
    for (const [index, step] of waiting) {
      if (step.needs !== undefined) await ends.get(step.needs)?.promise;
      results[index] = await run(step);
      ends.get(step.name)?.resolve(undefined);
    }
  };
  const [front, back] = [false, true].map((isBehind) =>
    [...group.entries()].filter(([, { lane }]) => (lane === 'back') === isBehind).values(),
  );
  // The lanes behind take from one iterator.
  const lanes = Array.from({ length: BEHIND }, () => take(back ?? []));
  await Promise.all([take(front ?? []), ...lanes]);
  return results;
}
