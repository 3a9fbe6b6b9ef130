// The lines of a container's log, which the program in the container chooses: any bytes, of any length.

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/** A line of a log. */
export interface LogLine {
  /** When it was written, epoch milliseconds. */
  readonly ms: number;
  readonly message: string;
  /** What a daemon says about a process; absent: the container printed the line. */
  readonly process?: ProcessDetails;
}

export interface ProcessDetails {
  readonly level: Level;
  readonly event: string;
  readonly pid?: string | undefined;
}

/** Longer lines are cut, time included. */
export const MAX_LINE_BYTES = 16_384;
const CUT = ` … [cut: the line has more than ${MAX_LINE_BYTES} bytes]`;
const NEWLINE = 0x0a;

/** Yields the lines of a log whose lines begin with their time. Never holds more than one line, cut. */
export async function* readLogLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<LogLine> {
  const line = new CutLine();
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      line.add(chunk.subarray(start, end));
      const read = parseLine(line.take());
      start = end + 1;
      if (read !== undefined) yield read;
    }
    line.add(chunk.subarray(start));
  }
  const last = parseLine(line.take());
  if (last !== undefined) yield last;
}

/** Bytes of a log up to a limit. */
export class LimitedLog implements AsyncIterable<Buffer> {
  readonly #chunks: AsyncIterable<Buffer>;
  readonly #limit: number;
  #bytes = 0;

  constructor(chunks: AsyncIterable<Buffer>, limit: number) {
    this.#chunks = chunks;
    this.#limit = limit;
  }

  /** Whether more may have followed. */
  get isSpent(): boolean {
    return this.#bytes >= this.#limit;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const chunk of this.#chunks) {
      const kept = chunk.subarray(0, this.#limit - this.#bytes);
      this.#bytes += kept.length;
      yield kept;
      if (this.isSpent) return;
    }
  }
}

/**
 * The lines of a log that its limit may end in the middle of a line or of a millisecond. A reader goes on behind the last millisecond
 * that it has seen, so that one is left out, unless there is no other.
 */
export async function* readLimitedLines(log: LimitedLog): AsyncGenerator<LogLine> {
  let held: LogLine[] = [];
  let isFirst = true;
  for await (const line of readLogLines(log)) {
    if (held.length > 0 && held[0]?.ms !== line.ms) {
      yield* held;
      [held, isFirst] = [[], false];
    }
    held.push(line);
  }
  if (isFirst || !log.isSpent) yield* held;
}

/** Keeps the beginning of a line. */
class CutLine {
  #parts: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  add(part: Buffer): void {
    const room = MAX_LINE_BYTES - this.#bytes;
    this.#isCut ||= part.length > room;
    if (room <= 0 || part.length === 0) return;
    // A copy: a slice would keep the whole chunk.
    const kept = Buffer.from(part.subarray(0, room));
    this.#parts.push(kept);
    this.#bytes += kept.length;
  }

  take(): string {
    const text = Buffer.concat(this.#parts).toString('utf8') + (this.#isCut ? CUT : '');
    [this.#parts, this.#bytes, this.#isCut] = [[], 0, false];
    return text;
  }
}

/** Undefined for what has no time: the node's own words about a log that it cannot read. */
function parseLine(text: string): LogLine | undefined {
  const [, time = '', message = ''] = /^(\d{4}-\d\d-\d\dT\S{1,30}) ?([^]*)$/.exec(text) ?? [];
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? undefined : { ms, message };
}
