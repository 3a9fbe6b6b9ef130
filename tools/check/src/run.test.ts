import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
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

/** A test runner that leaves this report and ends with this code. */
function reporting(report: object, code: number): Step {
  const script = `const out = process.argv.find((a) => a.startsWith('--outputFile.json=')).split('=')[1];
    require('fs').writeFileSync(out, ${JSON.stringify(JSON.stringify(report))}); process.exit(${code});`;
  return { ...node(script), project: 'sample', command: [process.execPath, '-e', script, '--'] };
}

const verdicts: readonly (readonly [string, Step, { passed: number; failed: number; note: string }])[] = [
  ['a command that succeeds is one that passed', node(''), { passed: 1, failed: 0, note: '' }],
  ['a command that fails is one that failed', node('process.exit(3)'), { passed: 0, failed: 1, note: '' }],
  [
    'a command that does not end is stopped and failed',
    node('setInterval(() => {}, 1000)', { timeoutMs: 200 }),
    { passed: 0, failed: 1, note: 'timed out' },
  ],
  [
    'a command that does not exist has failed',
    node('', { command: ['no-such-command-here'] }),
    { passed: 0, failed: 1, note: '' },
  ],
  ['tests are counted one by one', reporting(counted(7, 2), 1), { passed: 7, failed: 2, note: '' }],
  [
    'a run that fails although every test passed has failed',
    reporting(counted(7, 0), 1),
    { passed: 7, failed: 1, note: 'failed outside a test' },
  ],
  ['a skipped test counts as failed', reporting(counted(7, 0, 2), 0), { passed: 7, failed: 2, note: '2 skipped' }],
];

it.each(verdicts)('%s', async (_, step, verdict) => {
  expect(await runStep(step)).toMatchObject(verdict);
});

const FILES = ['steady', 'shaky', 'broken'] as const;

/** A test runner with these files: the shaky one fails the first time, the broken one always, both in one of two tests. */
function withFiles(folder: string, files: readonly string[], more: Partial<Step> = {}): Step {
  const script = `const fs = require('fs'), path = require('path'), args = process.argv;
    const out = args.find((a) => a.startsWith('--outputFile.json=')).split('=')[1];
    const asked = args.filter((a) => a.endsWith('.test'));
    const runs = path.join(${JSON.stringify(folder)}, 'runs');
    fs.appendFileSync(runs, asked.map((a) => path.basename(a, '.test')).join() + ';');
    const isBad = (name) => name === 'broken' || (name === 'shaky' && asked.length === 0);
    const all = asked.length > 0 ? asked : ${JSON.stringify(files.map((name) => `${folder}/${name}.test`))};
    const testResults = all.map((name) => {
      const bad = isBad(path.basename(name, '.test').split('-')[0]);
      const test = (fullName, status) => ({ fullName, status, failureMessages: ['Error: not so\\nat line 1'] });
      return { name, status: bad ? 'failed' : 'passed', assertionResults: [test('one', 'passed'), test('two', bad ? 'failed' : 'passed')] };
    });
    const tests = testResults.flatMap((file) => file.assertionResults);
    const count = (status) => tests.filter((test) => test.status === status).length;
    fs.writeFileSync(out, JSON.stringify({ numPassedTests: count('passed'), numFailedTests: count('failed'), numPendingTests: 0, testResults }));
    process.exit(count('failed') > 0 ? 1 : 0);`;
  return { ...node(script), project: 'sample', command: [process.execPath, '-e', script, '--'], again: true, ...more };
}

describe('the files that failed are run once more', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandlot-again-'));
  const runs = join(folder, 'runs');
  afterEach(() => rmSync(runs, { force: true }));
  afterAll(() => rmSync(folder, { recursive: true }));
  const named = (file: string) => [
    { what: expect.stringContaining(`${file}.test > two`) as string, error: 'Error: not so' },
  ];

  it('and what passes then is counted as passed, and named', async () => {
    const result = await runStep(withFiles(folder, ['steady', 'shaky']));
    expect(result).toMatchObject({ passed: 4, failed: 0, failures: [], flaky: named('shaky') });
    expect(readFileSync(runs, 'utf8')).toBe(';shaky;');
  });

  it('and what fails again has failed', async () => {
    const result = await runStep(withFiles(folder, FILES));
    expect(result).toMatchObject({ passed: 5, failed: 1, failures: named('broken'), flaky: named('shaky') });
    expect(readFileSync(runs, 'utf8')).toBe(';shaky,broken;');
  });

  it.each([
    { so: 'unless the step waits for nothing real', files: ['shaky'], again: false },
    { so: 'unless there are many', files: ['shaky-1', 'shaky-2', 'shaky-3', 'shaky-4'], again: true },
  ])('$so', async ({ files, again }) => {
    const count = files.length;
    expect(await runStep(withFiles(folder, files, { again }))).toMatchObject({
      passed: count,
      failed: count,
      flaky: [],
    });
    expect(readFileSync(runs, 'utf8')).toBe(';');
  });
});

it('every step has a name of its own and a time limit', () => {
  expect(new Set(steps.map(({ name }) => name)).size).toBe(steps.length);
  for (const { timeoutMs } of steps) expect(timeoutMs).toBeGreaterThan(0);
});
