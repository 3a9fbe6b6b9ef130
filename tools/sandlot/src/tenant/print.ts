import { stringify } from 'yaml';
import { formatTable } from '../table.ts';
import { getText } from './command.ts';
import type { Call } from './command.ts';

export interface Listing {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** What `-o json` and `-o yaml` print. */
  readonly data: unknown;
  /** What `-o name` prints, a line each. */
  readonly names: readonly string[];
  /** What people see in place of an empty table. */
  readonly empty: string;
}

/** Prints a listing as `-o` says: tables for people, the rest for scripts. */
export function print(call: Pick<Call, 'values' | 'out'>, listing: Listing): void {
  call.out.write(format(getText(call, 'output') ?? 'text', listing));
}

function format(output: string, { head, rows, data, names, empty }: Listing): string {
  if (output === 'json') return `${JSON.stringify(data, undefined, 2)}\n`;
  if (output === 'yaml') return stringify(data);
  if (output === 'name') return names.map((name) => `${name}\n`).join('');
  return rows.length === 0 ? `${empty}\n` : `${formatTable([head, ...rows].map((row) => row.map(clean)))}\n`;
}

/** Names and metadata are a tenant's text: it must not steer the terminal of another who lists. */
export function clean(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '?');
}

/** How long ago, or how long until: `45s`, `12m`, `3h`, `2d`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
