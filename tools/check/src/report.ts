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
