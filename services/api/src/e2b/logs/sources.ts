import type { Level } from './lines.ts';
import type { PodLog } from './pod-logs.ts';
import type { ProcessRecords } from './process-records.ts';
import type { Wanted } from './select.ts';
import type { OlderLines } from './store/older.ts';

export interface LogRead extends Wanted {
  /** Epoch milliseconds. The oldest lines from here on, or the newest before here; undefined: the newest of all. */
  readonly from: number | undefined;
  readonly direction: 'forward' | 'backward';
  /** Older lines are in no answer of the store, epoch milliseconds. */
  readonly oldestMs: number;
  /** What the message of each line contains. */
  readonly search: string;
  /** The least level of a line. */
  readonly level: Level;
  readonly signal: AbortSignal;
}

/** What the log of a running or paused sandbox is read from. */
export interface LogSources {
  /** Undefined: no Pod has one. */
  readonly pod: PodLog | undefined;
  readonly records: ProcessRecords;
  /** Lines that the node has no more; undefined: the installation keeps none. */
  readonly older: OlderLines | undefined;
}
