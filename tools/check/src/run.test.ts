import { expect, it } from 'vitest';
import { runStep } from './run.ts';
import { steps } from './steps.ts';
import type { Step } from './steps.ts';

const node = (script: string, more: Partial<Step> = {}): Step => ({
  name: 'sample',
  what: 'a sample',
  command: [process.execPath, '-e', script],
  timeoutMs: 20_000,
  ...more,
});

const counted = (numPassedTests: number, numFailedTests: number, numPendingTests = 0): object => ({
  numPassedTests,
  numFailedTests,
  numPendingTests,
});

/** A test runner that writes this report and exits with this code. */
function reporting(report: object, code: number): Step {
  const script = `const out = process.argv.find((a) => a.startsWith('--outputFile.json=')).split('=')[1];
    require('fs').writeFileSync(out, ${JSON.stringify(JSON.stringify(report))}); process.exit(${code});`;
  return { ...node(script), project: 'sample', command: [process.execPath, '-e', script, '--'] };
}

const verdicts: readonly (readonly [string, Step, { passed: number; failed: number; note: string }])[] = [
  ['counts a command that succeeds as one passed test', node(''), { passed: 1, failed: 0, note: '' }],
  ['counts a command that fails as one failed test', node('process.exit(3)'), { passed: 0, failed: 1, note: '' }],
  [
    'stops a command at its time limit and counts it as failed',
    node('setInterval(() => {}, 1000)', { timeoutMs: 200 }),
    { passed: 0, failed: 1, note: 'timed out' },
  ],
  [
    'counts a command that does not exist as failed',
    node('', { command: ['no-such-command-here'] }),
    { passed: 0, failed: 1, note: '' },
  ],
  ['counts each test of a report', reporting(counted(7, 2), 1), { passed: 7, failed: 2, note: '' }],
  [
    'fails a run that exits non-zero although every test passed',
    reporting(counted(7, 0), 1),
    { passed: 7, failed: 1, note: 'failed outside a test' },
  ],
  ['counts a skipped test as failed', reporting(counted(7, 0, 2), 0), { passed: 7, failed: 2, note: '2 skipped' }],
];

it.each(verdicts)('%s', async (_, step, verdict) => {
  expect(await runStep(step)).toMatchObject(verdict);
});

it('reports each failure with the first line of its error', async () => {
  const failed = { fullName: 'two', status: 'failed', failureMessages: ['Error: not so\nat line 1'] };
  const testResults = [
    { name: '/one.test', status: 'passed', assertionResults: [{ fullName: 'one', status: 'passed' }] },
    { name: '/two.test', status: 'failed', assertionResults: [failed] },
    { name: '/three.test', status: 'failed', message: 'does not load', assertionResults: [] },
  ];
  expect((await runStep(reporting({ ...counted(1, 1), testResults }, 1))).failures).toEqual([
    { what: expect.stringMatching(/two\.test > two$/) as string, error: 'Error: not so' },
    { what: expect.stringMatching(/three\.test$/) as string, error: 'does not load' },
  ]);
});

it('gives every step a name of its own and a time limit', () => {
  expect(new Set(steps.map(({ name }) => name)).size).toBe(steps.length);
  for (const { timeoutMs } of steps) expect(timeoutMs).toBeGreaterThan(0);
});
