import { computeMedian } from '../support/median.ts';
import type { Point } from './formula.ts';
import { PROCESSES } from './measure.ts';
import type { ProcessName } from './measure.ts';
import type { Step } from './run.ts';
import { STARTED } from './starts.ts';
import type { Start, StartedName } from './starts.ts';

/** What something costs by size. */
export interface Series {
  readonly name: string;
  readonly points: readonly Point[];
}

/** Names for readers, where they differ. */
const NAMES: Partial<Readonly<Record<ProcessName, string>>> = {
  'kube-apiserver': 'kube-apiserver, live heap',
  'nats-server': 'NATS',
  'redis-server': 'Redis',
};

export function listMemory(steps: readonly Step[], names: readonly ProcessName[] = PROCESSES): readonly Series[] {
  return names.map((name) => ({
    name: NAMES[name] ?? name,
    points: steps.map(({ sandboxes, memory }) => ({ sandboxes, value: memory[name] })),
  }));
}

export function buildStored(steps: readonly Step[]): Series {
  return { name: 'etcd', points: steps.map(({ sandboxes, storedMiB }) => ({ sandboxes, value: storedMiB })) };
}

/** What the starts of each process cost: the median of those of a size. */
export function listStarts(steps: readonly Step[], read: (start: Start) => number): readonly Series[] {
  const compute = ({ starts }: Step, name: StartedName): number => computeMedian(starts[name].map(read));
  return STARTED.map((name) => ({
    name,
    points: steps.map((step) => ({ sandboxes: step.sandboxes, value: compute(step, name) })),
  }));
}

/** The lists of all starts together. */
export function countLists(steps: readonly Step[]): number {
  const starts = steps.flatMap((step) => STARTED.flatMap((name) => step.starts[name]));
  return starts.reduce((sum, { load }) => sum + load.lists, 0);
}
