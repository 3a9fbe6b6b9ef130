// Which lines of a log an answer has. Lines of one millisecond are never split over two answers: clients ask for what comes
// after the last millisecond that they have seen.
import type { LogLine } from './lines.ts';

/** Text of the lines of an answer. */
const MAX_ANSWER_BYTES = 4 * 1_048_576;
const LEFT_OUT = '[left out: this millisecond has more lines than an answer holds]';

export interface Wanted {
  readonly limit: number;
  readonly isWanted: (line: LogLine) => boolean;
}

/** The first wanted lines, the oldest first. */
export async function selectFirst(lines: AsyncIterable<LogLine>, { limit, isWanted }: Wanted): Promise<LogLine[]> {
  const chosen = new Groups();
  if (limit === 0) return [];
  for await (const line of lines) {
    if (!isWanted(line)) continue;
    if (chosen.count >= limit && chosen.lastMs !== line.ms) break;
    if (chosen.isFullWith(line) && chosen.groups > 1) {
      // The rest of this millisecond may not fit, so all of it is left to the next answer.
      if (chosen.lastMs === line.ms) chosen.dropLast();
      break;
    }
    if (chosen.isFullWith(line) && chosen.lastMs !== line.ms) break;
    chosen.add(line);
  }
  return chosen.list();
}

/** The last wanted lines, the newest first. */
export async function selectLast(lines: AsyncIterable<LogLine>, { limit, isWanted }: Wanted): Promise<LogLine[]> {
  const chosen = new Groups();
  if (limit === 0) return [];
  for await (const line of lines) {
    if (!isWanted(line)) continue;
    while (chosen.groups > 1 && (chosen.isFullWith(line) || chosen.countWithoutFirst >= limit)) chosen.dropFirst();
    if (chosen.isFullWith(line) && chosen.lastMs !== line.ms) chosen.dropFirst();
    chosen.add(line);
  }
  while (chosen.groups > 1 && chosen.countWithoutFirst >= limit) chosen.dropFirst();
  return chosen.list().reverse();
}

/** Lines by their millisecond. */
class Groups {
  readonly #groups: { readonly ms: number; readonly lines: LogLine[]; bytes: number; isFull: boolean }[] = [];
  count = 0;
  #bytes = 0;

  get groups(): number {
    return this.#groups.length;
  }

  get lastMs(): number | undefined {
    return this.#groups.at(-1)?.ms;
  }

  get countWithoutFirst(): number {
    return this.count - (this.#groups[0]?.lines.length ?? 0);
  }

  isFullWith(line: LogLine): boolean {
    return this.#groups.length > 0 && this.#bytes + getSize(line) > MAX_ANSWER_BYTES;
  }

  /** Adds a line; of a millisecond that fills the answer alone the rest is left out, and a last line says so. */
  add(line: LogLine): void {
    let group = this.#groups.at(-1);
    if (group?.ms !== line.ms) {
      group = { ms: line.ms, lines: [], bytes: 0, isFull: false };
      this.#groups.push(group);
    }
    if (group.isFull) return;
    const isFull = this.isFullWith(line) && group.lines.length > 0;
    const kept = isFull ? { ms: line.ms, message: LEFT_OUT } : line;
    group.isFull = isFull;
    group.lines.push(kept);
    group.bytes += getSize(kept);
    this.#bytes += getSize(kept);
    this.count += 1;
  }

  dropFirst(): void {
    this.#forget(this.#groups.shift());
  }

  dropLast(): void {
    this.#forget(this.#groups.pop());
  }

  list(): LogLine[] {
    return this.#groups.flatMap(({ lines }) => lines);
  }

  #forget(group: { readonly lines: readonly LogLine[]; readonly bytes: number } | undefined): void {
    this.#bytes -= group?.bytes ?? 0;
    this.count -= group?.lines.length ?? 0;
  }
}

/** About what a line takes, in memory and in the answer. */
function getSize({ message }: LogLine): number {
  return Buffer.byteLength(message) + 100;
}
