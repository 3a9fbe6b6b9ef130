export type Outcome = 'passed' | 'failed' | 'skipped';

/** How tests of Go ended, by their names. */
export type Outcomes = Readonly<Record<string, Outcome>>;

const WORDS: Readonly<Record<string, Outcome>> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' };

/**
 * Reads what one test of Go printed with `-test.v`: how each of its parts ended, or the test itself where it has none or failed
 * outside of them. A test that printed no end, such as after a time-out, has failed.
 */
export function readOutcomes(test: string, output: string): Outcomes {
  const ended = new Map(
    [...output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+) \(/gm)].map(([, word = '', name = '']) => [name, WORDS[word]]),
  );
  const own = ended.get(test) ?? 'failed';
  ended.delete(test);
  const isExplained = own !== 'failed' || [...ended.values()].includes('failed');
  const parts = Object.fromEntries([...ended].map(([name, outcome]) => [name, outcome ?? 'failed']));
  return ended.size > 0 && isExplained ? parts : { ...parts, [test]: own };
}
