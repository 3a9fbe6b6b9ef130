import { expect, it } from 'vitest';
import { pageEntries } from './entries.ts';
import type { LogEntry, LogLevel } from './entries.ts';

const entry = (message: string, level: LogLevel): LogEntry => ({ timestamp: '2026-01-01T00:00:00Z', message, level });
const entries = [entry('a', 'debug'), entry('b', 'info'), entry('c', 'error'), entry('d', 'debug'), entry('e', 'warn')];
const page = (offset: number, limit: number, level: LogLevel): string =>
  pageEntries(entries, { offset, limit, level })
    .map(({ message }) => message)
    .join('');

it('pages the log, by an offset that counts the entries of the level', () => {
  expect([page(0, 100, 'debug'), page(2, 2, 'debug'), page(1, 100, 'info'), page(0, 1, 'warn')]).toEqual([
    'abcde',
    'cd',
    'ce',
    'c',
  ]);
});

it('ends with an empty page, also behind the end', () => {
  expect([page(5, 100, 'debug'), page(3, 100, 'info'), page(99, 100, 'debug')]).toEqual(['', '', '']);
});
