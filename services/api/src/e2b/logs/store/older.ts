import type { Wanted } from '../select.ts';
import type { LogStore, StoredLines } from './log-store.ts';
import type { PodOfLog } from './query.ts';

/** A Pod, and from when until when lines of this name are its own, epoch milliseconds. */
export interface PodInStore extends PodOfLog {
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Reads stored lines from a time on and before another one, epoch milliseconds. */
export type OlderLines = (range: { readonly fromMs: number; readonly untilMs: number }) => Promise<StoredLines>;

interface Asked extends Pick<Wanted, 'limit'> {
  readonly direction: 'forward' | 'backward';
  readonly search: string;
  readonly signal: AbortSignal;
}

/** What the store has of a Pod, within its own time. */
export function openOlder(
  store: LogStore,
  { namespace, pod, sinceMs, untilMs: endMs }: PodInStore,
  { limit, direction, search, signal }: Asked,
): OlderLines {
  return (range) => {
    const [fromMs, untilMs] = [Math.max(range.fromMs, sinceMs), Math.min(range.untilMs, endMs)];
    return store.read({ namespace, pod, fromMs, untilMs, direction, limit, search }, signal);
  };
}
