import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { runInLanes } from './lanes.ts';
import { runStep } from './run.ts';
import { steps } from './steps.ts';
import type { Step } from './steps.ts';

type Sample = Pick<Step, 'name' | 'lane' | 'needs'>;

const back = (name: string): Sample => ({ name, lane: 'back' });
const front = (name: string): Sample => ({ name, lane: 'front' });
const alone = (name: string): Sample => ({ name });

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

it('runs two steps of the back lane beside one of the front lane and returns their results in order', async () => {
  const { running, results, end } = start([back('a'), back('b'), back('c'), front('x'), front('y')]);
  expect([...running].sort()).toEqual(['a', 'b', 'x']);
  await end('b');
  expect([...running].sort()).toEqual(['a', 'c', 'x']);
  await end('x');
  expect([...running].sort()).toEqual(['a', 'c', 'y']);
  for (const name of ['c', 'a', 'y']) await end(name);
  expect(await results).toEqual(['a', 'b', 'c', 'x', 'y']);
});

it('begins a step when the one that it needs has ended, and at once if that is not selected', async () => {
  const needy: Sample = { ...back('a'), needs: 'x' };
  const { running, results, end } = start([needy, front('x')]);
  expect([...running]).toEqual(['x']);
  await end('x');
  expect([...running]).toEqual(['a']);
  await end('a');
  expect(await results).toEqual(['a', 'x']);
  const selected = start([needy]);
  await selected.end('none');
  expect([...selected.running]).toEqual(['a']);
  await selected.end('a');
});

it('runs every step without a lane alone', async () => {
  const { running, results, end } = start([back('a'), alone('b'), alone('c'), back('d')]);
  for (const name of ['a', 'b', 'c', 'd']) {
    expect([...running]).toEqual([name]);
    await end(name);
  }
  expect(await results).toEqual(['a', 'b', 'c', 'd']);
});

it('keeps both outputs of a step with a lane, in the order in which they were written', async () => {
  const script = `console.log('one'); console.error('two'); console.log('three'); process.exit(1)`;
  const step = {
    name: 'sample',
    what: 'a sample',
    command: [process.execPath, '-e', script],
    timeoutMs: 20_000,
  } as const;
  expect(await runStep({ ...step, lane: 'back' })).toMatchObject({ failed: 1, output: 'one\ntwo\nthree\n' });
});

it('a step of the back lane runs at the lowest priority', async () => {
  const script = `console.log(require('node:os').getPriority())`;
  const step = { name: 'x', what: 'x', command: [process.execPath, '-e', script], timeoutMs: 20_000 } as const;
  expect(await runStep({ ...step, lane: 'back' })).toMatchObject({ failed: 0, output: '19\n' });
  expect(await runStep({ ...step, lane: 'front' })).toMatchObject({ failed: 0, output: `${getPriority()}\n` });
});

it('the suites that share a cluster or real servers run alone', () => {
  const names = steps.filter(({ lane }) => lane === undefined).map(({ name }) => name);
  expect(names).toEqual(['integration', 'e2e']);
});
