import type { Level } from '../lines.ts';
import { formatTag, readMark } from '../marks.ts';
import type { Wanted } from '../select.ts';
import type { LogStore, StoredLines } from './log-store.ts';
import type { PodOfLog } from './query.ts';

/** A Pod, and from when until when lines of this name are its own, epoch milliseconds. */
export interface PodInStore extends PodOfLog {
  /** By it lines of its daemon are recognised; undefined: it cannot be found out, and they are lines of the container. */
  readonly sandboxUid: string | undefined;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Reads stored lines from a time on and before another one, epoch milliseconds. */
export type OlderLines = (range: { readonly fromMs: number; readonly untilMs: number }) => Promise<StoredLines>;

interface Asked extends Pick<Wanted, 'limit'> {
  readonly direction: 'forward' | 'backward';
  readonly search: string;
  readonly level: Level;
  readonly signal: AbortSignal;
}

/** What the store has of a Pod, within its own time. */
export function openOlder(
  store: LogStore,
  { namespace, pod, sandboxUid = '', sinceMs, untilMs: endMs }: PodInStore,
  { limit, direction, search, level, signal }: Asked,
): OlderLines {
  const tag = formatTag(sandboxUid);
  return async (range) => {
    const [fromMs, untilMs] = [Math.max(range.fromMs, sinceMs), Math.min(range.untilMs, endMs)];
    const part = { namespace, pod, fromMs, untilMs, direction, limit, search, level };
    const { lines, isWhole } = await store.read(part, signal);
    return { lines: lines.map((line) => readMark(line, tag)), isWhole };
  };
}
