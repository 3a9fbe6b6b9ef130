import { expect, it } from 'vitest';
import { runInLanes } from './lanes.ts';
import { runStep } from './run.ts';
import { steps } from './steps.ts';

interface Sample {
  readonly name: string;
  readonly mayOverlap: boolean;
}

const beside = (name: string): Sample => ({ name, mayOverlap: true });
const alone = (name: string): Sample => ({ name, mayOverlap: false });

/** Runs the samples; `end` ends one of them. */
function start(samples: readonly Sample[]): {
  readonly running: Set<string>;
  readonly results: Promise<string[]>;
  readonly end: (name: string) => Promise<void>;
} {
  const running = new Set<string>();
  const ends = new Map<string, () => void>();
  const run = async ({ name }: Sample): Promise<string> => {
    running.add(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    running.delete(name);
    return name;
  };
  const results = runInLanes(samples, run);
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { running, results, end };
}

it('runs steps that may overlap two at a time and returns their results in order', async () => {
  const { running, results, end } = start(['a', 'b', 'c'].map(beside));
  expect([...running]).toEqual(['a', 'b']);
  await end('b');
  expect([...running]).toEqual(['a', 'c']);
  await end('c');
  await end('a');
  expect(await results).toEqual(['a', 'b', 'c']);
});

it('runs every other step alone', async () => {
  const { running, results, end } = start([beside('a'), alone('b'), alone('c'), beside('d')]);
  for (const name of ['a', 'b', 'c', 'd']) {
    expect([...running]).toEqual([name]);
    await end(name);
  }
  expect(await results).toEqual(['a', 'b', 'c', 'd']);
});

it('keeps both outputs of a step that may overlap, in the order in which they were written', async () => {
  const script = `console.log('one'); console.error('two'); console.log('three'); process.exit(1)`;
  const step = {
    name: 'sample',
    what: 'a sample',
    command: [process.execPath, '-e', script],
    timeoutMs: 20_000,
  } as const;
  expect(await runStep({ ...step, mayOverlap: true })).toMatchObject({ failed: 1, output: 'one\ntwo\nthree\n' });
});

it('no suite of tests overlaps another step', () => {
  expect(steps.filter(({ project, mayOverlap }) => project !== undefined && mayOverlap === true)).toEqual([]);
});
