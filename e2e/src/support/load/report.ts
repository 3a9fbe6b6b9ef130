import type { EventCount } from './events.ts';
import type { Count } from './tally.ts';

/** What a load counted, as plain data. */
export interface Report {
  readonly calls: Readonly<Record<string, Count>>;
  /** How many sandboxes lived through the load. */
  readonly sandboxes: number;
  /** What servers answered instead of serving a call, to explain its failure. */
  readonly refusals: readonly string[];
  readonly touched: readonly string[];
  readonly events: EventCount;
}

/** What no operation may cause: all of it is empty after one that is invisible to users. */
export function listHarm({ calls, touched, events }: Report): Readonly<Record<string, readonly string[]>> {
  const failures = Object.entries(calls).map(([kind, { failures: texts }]) => [`${kind} failed`, texts] as const);
  return {
    ...Object.fromEntries(failures),
    'sandboxes touched': touched,
    'events lost': events.lost,
    'events doubled': events.doubled,
  };
}

/** The same for a load that did no harm. */
export const NO_HARM = {
  'claims failed': [],
  'execs failed': [],
  'pauses failed': [],
  'wakes failed': [],
  'sandboxes touched': [],
  'events lost': [],
  'events doubled': [],
} as const;

/** Prints the counts as a table of Markdown. */
export function printReport(title: string, { calls, sandboxes, refusals, touched, events }: Report): void {
  const rows = Object.entries(calls).map(([kind, { started, succeeded, failures, retried, retries, longestMs }]) => {
    const reasons = Object.entries(retries).map(([reason, count]) => `${reason}: ${count}`);
    const again = reasons.length === 0 ? `${retried}` : `${retried} (${reasons.join(', ')})`;
    return `| ${kind} | ${started} | ${succeeded} | ${failures.length} | ${again} | ${(longestMs / 1000).toFixed(1)} s |`;
  });
  const lines = [
    `\n${title}`,
    '| | started | succeeded | failed | retried | longest |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
    `sandboxes touched ${touched.length} of ${sandboxes}; events lost ${events.lost.length} of ${events.expected},`,
    `of two ids ${events.doubled.length}, sent again under their id ${events.repeated}`,
    ...refusals,
    '',
  ];
  process.stdout.write(lines.join('\n'));
}
