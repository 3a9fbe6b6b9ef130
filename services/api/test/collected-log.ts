import { inspect } from 'node:util';
import type { Logger } from '@sandlot/std';

/** A log that keeps its lines, with all that its fields have. */
export interface CollectedLog extends Logger {
  readonly lines: readonly string[];
}

export function collectLog(): CollectedLog {
  const lines: string[] = [];
  const add = (fields: object, message: string): void => {
    lines.push(`${inspect(fields, { depth: 12, maxStringLength: null, maxArrayLength: null })} ${message}`);
  };
  const log: CollectedLog = { lines, debug: add, info: add, warn: add, error: add, child: () => log };
  return log;
}
