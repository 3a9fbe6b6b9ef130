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
  for await (const line of filter(lines, isWanted)) {
    if (chosen.endsBefore(line, limit)) break;
    chosen.add(line);
  }
  return chosen.list();
}

/** The last wanted lines, the newest first. */
export async function selectLast(lines: AsyncIterable<LogLine>, { limit, isWanted }: Wanted): Promise<LogLine[]> {
  const chosen = new Groups();
  if (limit === 0) return [];
  for await (const line of filter(lines, isWanted)) {
    chosen.makeRoom(line, limit);
    chosen.add(line);
  }
  chosen.trim(limit);
  return chosen.list().reverse();
}

async function* filter(lines: AsyncIterable<LogLine>, isWanted: Wanted['isWanted']): AsyncGenerator<LogLine> {
  for await (const line of lines) if (isWanted(line)) yield line;
}

/** Lines by their millisecond. */
class Groups {
  readonly #groups: { readonly ms: number; readonly lines: LogLine[]; bytes: number; isFull: boolean }[] = [];
  #count = 0;
  #bytes = 0;

  /** Whether the answer is complete without this line, which comes later than those before. */
  endsBefore(line: LogLine, limit: number): boolean {
    const isSame = this.#groups.at(-1)?.ms === line.ms;
    if (this.#count >= limit && !isSame) return true;
    if (!this.#isFullWith(line) || (isSame && this.#groups.length === 1)) return false;
    // The rest of this millisecond may not fit, so all of it is left to the next answer.
    if (isSame) this.#forget(this.#groups.pop());
    return true;
  }

  /** Drops the first lines that have no place beside this one. */
  makeRoom(line: LogLine, limit: number): void {
    this.trim(limit);
    while (this.#groups.length > 1 && this.#isFullWith(line)) this.#dropFirst();
    if (this.#isFullWith(line) && this.#groups[0]?.ms !== line.ms) this.#dropFirst();
  }

  /** Drops the first milliseconds without which there are enough lines. */
  trim(limit: number): void {
    while (this.#groups.length > 1 && this.#count - (this.#groups[0]?.lines.length ?? 0) >= limit) this.#dropFirst();
  }

  /** Adds a line; of a millisecond that fills the answer alone the rest is left out, and a last line says so. */
  add(line: LogLine): void {
    let group = this.#groups.at(-1);
    if (group?.ms !== line.ms) {
      group = { ms: line.ms, lines: [], bytes: 0, isFull: false };
      this.#groups.push(group);
    }
    if (group.isFull) return;
    const isFull = this.#isFullWith(line) && group.lines.length > 0;
    const kept = isFull ? { ms: line.ms, message: LEFT_OUT } : line;
    group.isFull = isFull;
    group.lines.push(kept);
    group.bytes += getSize(kept);
    this.#bytes += getSize(kept);
    this.#count += 1;
  }

  list(): LogLine[] {
    return this.#groups.flatMap(({ lines }) => lines);
  }

  #isFullWith(line: LogLine): boolean {
    return this.#groups.length > 0 && this.#bytes + getSize(line) > MAX_ANSWER_BYTES;
  }

  #dropFirst(): void {
    this.#forget(this.#groups.shift());
  }

  #forget(group: { readonly lines: readonly LogLine[]; readonly bytes: number } | undefined): void {
    this.#bytes -= group?.bytes ?? 0;
    this.#count -= group?.lines.length ?? 0;
  }
}

/** About what a line takes, in memory and in the answer. */
function getSize({ message }: LogLine): number {
  return Buffer.byteLength(message) + 100;
}
