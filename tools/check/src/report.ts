import { readFile, rm } from 'node:fs/promises';
import { relative } from 'node:path';

export interface TestJson {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages?: readonly string[] | null;
}

export interface FileJson {
  /** Absolute path. */
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  /** Epoch milliseconds. */
  readonly startTime?: number;
  readonly endTime?: number;
  readonly assertionResults: readonly TestJson[];
}

/** The part of vitest's JSON report that the checks read. Reports of other runners may have no files. */
export interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults?: readonly FileJson[];
}

/** Reads the report at that path and removes it; undefined when there is none or it is not JSON. */
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

/** Each test that failed, and each file that failed outside its tests. */
export function listFailures(report: Report | undefined): Failure[] {
  return (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const tests = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && tests.length === 0) return [{ what: file, error: getFirstLine(message) }];
    return tests.map(({ fullName, failureMessages }) => ({
      what: `${file} > ${fullName}`,
      error: getFirstLine(failureMessages?.[0]),
    }));
  });
}

/** A file that judges what all others did says nothing about a run of a few of them. */
const JUDGES_ALL = /\.last\.test\.ts$/;

/** Absolute paths of the test files that failed, in a test or outside one, and that may run without the others. */
export function listFailedFiles(report: Report): string[] {
  return (report.testResults ?? [])
    .filter(({ status, assertionResults }) => status === 'failed' || assertionResults.some(isFailed))
    .map(({ name }) => name)
    .filter((name) => !JUDGES_ALL.test(name));
}

/** The report of a whole run in which the results of some files are replaced by those of their second run. */
export function replaceFiles(first: Report, second: Report): Report {
  const again = new Map((second.testResults ?? []).map((file) => [file.name, file]));
  const testResults = (first.testResults ?? []).map((file) => again.get(file.name) ?? file);
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const count = (...statuses: readonly string[]): number =>
    tests.filter(({ status }) => statuses.includes(status)).length;
  return {
    numPassedTests: count('passed'),
    numFailedTests: count('failed'),
    numPendingTests: count('pending', 'skipped', 'todo'),
    testResults,
  };
}

export interface FileTime {
  /** Relative to the working directory. */
  readonly file: string;
  readonly seconds: number;
}

/** How long each test file took, slowest first. */
export function listFileTimes(report: Report | undefined): FileTime[] {
  return (report?.testResults ?? [])
    .map(({ name, startTime = 0, endTime = 0 }) => ({
      file: relative(process.cwd(), name),
      seconds: (endTime - startTime) / 1000,
    }))
    .sort((a, b) => b.seconds - a.seconds);
}

const isFailed = ({ status }: TestJson): boolean => status === 'failed';

const getFirstLine = (text = ''): string => text.split('\n', 1)[0] ?? '';
