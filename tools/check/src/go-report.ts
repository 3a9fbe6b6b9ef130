import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FileJson, Report, TestJson } from './report.ts';

/** A line of `go test -json`. */
export interface TestEvent {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
}

/** Reads the output of `go test -json`. */
export function parseEvents(lines: string): TestEvent[] {
  return lines
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as TestEvent);
}

/** The import path of the package in this folder, which is in a module. */
export function readImportPath(folder: string): string {
  const file = join(folder, 'go.mod');
  if (!existsSync(file)) return `${readImportPath(dirname(folder))}/${basename(folder)}`;
  return /^module (\S+)/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
}

const NAME = /^(\S+?)(\/.*)?$/;
/** What a test said, which `t.Error` and `t.Fatal` put behind its place, or why the whole process ended. */
const COMPLAINT = /^(\s+[\w.-]+\.go:\d+|panic|fatal error|signal): .*/;

/**
 * The events, and a failure of each test that had no end when its package failed: a process that crashes reports none for the
 * tests that it was running.
 */
export function endTests(events: readonly TestEvent[]): readonly TestEvent[] {
  const key = ({ Package, Test }: TestEvent): string => `${Package} ${Test}`;
  const broken = new Set(
    events.filter(({ Action, Test }) => Action === 'fail' && Test === undefined).map(({ Package }) => Package),
  );
  const ended = new Set(events.filter(({ Action }) => ['pass', 'fail', 'skip'].includes(Action)).map(key));
  const begun = events.filter(({ Action, Package }) => Action === 'run' && broken.has(Package));
  const unended = begun.filter((event) => !ended.has(key(event)));
  return [...events, ...unended.map((event) => ({ ...event, Action: 'fail' }))];
}

/**
 * Vitest's counters and, as files, the packages with failed tests, each test with what it said. A test that failed only because
 * a test within it failed counts, but is not listed. Pass the events through `endTests` first. Folders are those of the modules, by import path.
 */
export function reportOf(events: readonly TestEvent[], folders: Readonly<Record<string, string>>): Report {
  const count = (action: string): number =>
    events.filter(({ Action, Test }) => Action === action && Test !== undefined).length;
  const failed = events.filter(({ Action }) => Action === 'fail');
  const packages = [...new Set(failed.map((event) => event.Package ?? ''))];
  return {
    numPassedTests: count('pass'),
    numFailedTests: count('fail'),
    numPendingTests: count('skip'),
    testResults: packages.map((name) => fileOf(name, events, folders)),
  };
}

function fileOf(name: string, events: readonly TestEvent[], folders: Readonly<Record<string, string>>): FileJson {
  const own = events.filter((event) => event.Package === name);
  const failed = own.flatMap(({ Action, Test }) => (Action === 'fail' && Test !== undefined ? [Test] : []));
  const inner = failed.filter((test) => !failed.some((other) => other.startsWith(`${test}/`)));
  return {
    name: folderOf(name, folders),
    status: 'failed',
    message: own.map(({ Test, Output }) => (Test === undefined ? (Output ?? '') : '')).join(''),
    assertionResults: inner.map((test) => testOf(test, own)),
  };
}

function testOf(name: string, events: readonly TestEvent[]): TestJson {
  const output = events.filter(({ Test }) => Test === name).map(({ Output }) => Output ?? '');
  const complaints = output.filter((line) => COMPLAINT.test(line)).map((line) => line.trim());
  const [, test = name, inner = ''] = NAME.exec(name) ?? [];
  const fullName = `${test}${inner.replaceAll('_', ' ')}`;
  return { fullName, status: 'failed', failureMessages: [complaints.join('; ').slice(0, 500)] };
}

function folderOf(name: string, folders: Readonly<Record<string, string>>): string {
  const modules = Object.keys(folders).filter((path) => name === path || name.startsWith(`${path}/`));
  const longest = modules.sort((a, b) => b.length - a.length)[0];
  return longest === undefined ? name : join(folders[longest] ?? '', name.slice(longest.length));
}
