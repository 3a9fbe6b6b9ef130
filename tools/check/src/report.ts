import { readFile, rm } from 'node:fs/promises';
import { relative } from 'node:path';

interface TestJson {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages?: readonly string[] | null;
}

interface FileJson {
  /** Absolute path. */
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly TestJson[];
}

/** What is read of a report in vitest's JSON format; one of another kind of tests has no files. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults?: readonly FileJson[];
}

/** The report at that path, which is removed; undefined when there is none that can be read. */
export async function takeReport(path: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Report;
  } catch {
    return undefined;
  } finally {
    await rm(path, { force: true });
  }
}

/** Absolute paths of the files in which a test failed, or which did not load. */
export function failedFiles({ testResults = [] }: Report): string[] {
  return testResults.filter(({ status }) => status === 'failed').map(({ name }) => name);
}

export interface Failure {
  /** File and test, or the file alone when it did not load. */
  readonly what: string;
  /** The first line of its error. */
  readonly error: string;
}

/** What failed, and why. */
export function failures(report: Report | undefined): Failure[] {
  return (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && tests.length === 0) return [{ what: file, error: firstLine(message) }];
    return tests.map(({ fullName, failureMessages }) => ({
      what: `${file} > ${fullName}`,
      error: firstLine(failureMessages?.[0]),
    }));
  });
}

const firstLine = (text = ''): string => text.split('\n', 1)[0] ?? '';

/** Both runs as one: of the files that ran a second time, what came of them then. */
export function replaced(first: Report, second: Report): Report {
  const again = new Set((second.testResults ?? []).map(({ name }) => name));
  const before = (first.testResults ?? []).filter(({ name }) => again.has(name));
  const sum = (key: 'numPassedTests' | 'numFailedTests' | 'numPendingTests', statuses: readonly string[]): number => {
    const gone = before
      .flatMap(({ assertionResults }) => assertionResults)
      .filter((test) => statuses.includes(test.status));
    return first[key] - gone.length + second[key];
  };
  return {
    numPassedTests: sum('numPassedTests', ['passed']),
    numFailedTests: sum('numFailedTests', ['failed']),
    numPendingTests: sum('numPendingTests', ['skipped', 'pending', 'todo', 'disabled']),
    testResults: [...(first.testResults ?? []).filter(({ name }) => !again.has(name)), ...(second.testResults ?? [])],
  };
}
