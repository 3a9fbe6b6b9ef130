import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runStep } from './run.ts';
import { steps } from './steps.ts';
import type { Step } from './steps.ts';
import { summarise } from './summary.ts';

/** Outcomes of the tests of each file, one list per run of that file: p passed, f failed. */
type Histories = Readonly<Record<string, readonly string[]>>;

/**
 * A step whose command behaves like vitest: it runs all files, or those named on the command line, and writes a report.
 * It notes each run in a folder, so that a second run of a file gives that file's second outcome.
 */
function suite(histories: Histories, more: Partial<Step> = {}): Step {
  const folder = mkdtempSync(join(tmpdir(), 'sandlot-check-'));
  const script = `
    const fs = require('fs'); const path = require('path');
    const histories = ${JSON.stringify(histories)};
    const named = process.argv.slice(1).filter((a) => a.startsWith('/'));
    const out = process.argv.find((a) => a.startsWith('--outputFile.json=')).split('=')[1];
    const run = (file) => {
      const note = path.join(${JSON.stringify(folder)}, path.basename(file));
      const before = fs.existsSync(note) ? fs.readFileSync(note, 'utf8').length : 0;
      fs.writeFileSync(note, 'x'.repeat(before + 1));
      const outcomes = histories[path.basename(file)]; const now = outcomes[Math.min(before, outcomes.length - 1)];
      const assertionResults = [...now].map((c, i) => ({ fullName: 'test ' + (i + 1), status: c === 'p' ? 'passed' : 'failed', failureMessages: c === 'p' ? [] : ['Error: boom\\nat x'] }));
      return { name: '/' + path.basename(file), status: now.includes('f') ? 'failed' : 'passed', startTime: 0, endTime: 1500, assertionResults };
    };
    const testResults = (named.length > 0 ? named : Object.keys(histories)).map(run);
    const count = (s) => testResults.flatMap((f) => f.assertionResults).filter((t) => t.status === s).length;
    fs.writeFileSync(out, JSON.stringify({ numPassedTests: count('passed'), numFailedTests: count('failed'), numPendingTests: 0, testResults }));
    process.exit(count('failed') > 0 ? 1 : 0);`;
  const command = [process.execPath, '-e', script, '--'] as const;
  return { name: 'sample', what: 'a sample', command, timeoutMs: 20_000, project: 'sample', mayRerun: true, ...more };
}

const rerun = { rerunFailed: true };
const whats = (of: readonly { readonly what: string }[]): string[] => of.map(({ what }) => what.replace(/^[./]*/, ''));

describe('a step whose failed files may run once more', () => {
  it('counts a test that passes the second time as passed and lists it as unsteady', async () => {
    const result = await runStep(suite({ 'a.test': ['pf', 'pp'], 'b.test': ['ppp'] }), rerun);
    expect(result).toMatchObject({ passed: 5, failed: 0, failures: [] });
    expect(whats(result.unsteady)).toEqual(['a.test > test 2']);
  });

  it('fails for a test that fails again', async () => {
    const result = await runStep(suite({ 'a.test': ['ff', 'fp'] }), rerun);
    expect(result).toMatchObject({ passed: 1, failed: 1 });
    expect(whats(result.failures)).toEqual(['a.test > test 1']);
    expect(whats(result.unsteady)).toEqual(['a.test > test 2']);
  });

  it('fails for a test that fails only the second time', async () => {
    const result = await runStep(suite({ 'a.test': ['fp', 'pf'] }), rerun);
    expect(result).toMatchObject({ passed: 1, failed: 1 });
    expect(whats(result.failures)).toEqual(['a.test > test 2']);
  });

  it('runs a file at most twice', async () => {
    expect(await runStep(suite({ 'a.test': ['f', 'f', 'p'] }), rerun)).toMatchObject({ passed: 0, failed: 1 });
  });

  it('does not run a file again that judges what all others did', async () => {
    const result = await runStep(suite({ 'a.test': ['f', 'p'], 'z.last.test.ts': ['f', 'p'] }), rerun);
    expect(result).toMatchObject({ passed: 1, failed: 1 });
    expect(whats(result.failures)).toEqual(['z.last.test.ts > test 1']);
  });

  it('does not run again more than eight failed files', async () => {
    const nine = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}.test`, ['f', 'p']]));
    expect(await runStep(suite(nine), rerun)).toMatchObject({ passed: 0, failed: 9, unsteady: [] });
  });
});

it.each([
  ['the caller did not ask for it', suite({ 'a.test': ['f', 'p'] }), {}],
  ['the step does not allow it', suite({ 'a.test': ['f', 'p'] }, { mayRerun: false }), rerun],
])('a failed file does not run again when %s', async (_, step, options) => {
  expect(await runStep(step, options)).toMatchObject({ passed: 0, failed: 1, unsteady: [] });
});

it('only the integration and end-to-end suites allow a second run', () => {
  expect(steps.filter(({ mayRerun }) => mayRerun === true).map(({ name }) => name)).toEqual(['integration', 'e2e']);
});

describe('the summary', () => {
  it('lists unsteady tests before its last line, which counts the tests', async () => {
    const lines = summarise([await runStep(suite({ 'a.test': ['pf', 'pp'] }), rerun)]).split('\n');
    expect(lines.at(-1)).toBe('2 passed, 0 failed');
    expect(lines.filter((line) => line.includes('unsteady'))).toEqual([
      expect.stringMatching(/^ {2}unsteady sample .*a\.test > test 2: Error: boom$/),
    ]);
  });

  it('lists the slowest test files', async () => {
    const text = summarise([await runStep(suite({ 'a.test': ['p'] }))]);
    expect(text).toMatch(/Slowest test files:\n +1\.5 s {2}sample +\S*a\.test/);
  });
});
