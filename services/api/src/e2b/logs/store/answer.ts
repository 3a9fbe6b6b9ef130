import { z } from 'zod';
import { MAX_LINE_BYTES } from '../lines.ts';
import type { LogLine } from '../lines.ts';

const nanoseconds = z.string().regex(/^\d{7,19}$/);

const answer = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('streams'),
    result: z.array(
      z.object({
        stream: z.record(z.string(), z.string()),
        /** Time, line, and in newer stores what else is known of the line. */
        values: z.array(z.tuple([nanoseconds, z.string()], z.unknown())),
      }),
    ),
  }),
});

/** The store has answered with a stream of another Pod: no line of its answer is for this client. */
export class ForeignStreamError extends Error {
  override readonly name = 'ForeignStreamError';
  readonly code = 'ForeignStream';
}

/**
 * The lines of an answer to `query_range`, the oldest first. Throws for any other answer, and a ForeignStreamError if one of its streams lacks
 * a label that was asked for: whatever a query says, no client gets lines of another namespace.
 */
export function parseAnswer(text: string, wanted: ReadonlyMap<string, string>): readonly LogLine[] {
  const { data } = answer.parse(parseJson(text));
  return data.result
    .flatMap(({ stream, values }) => {
      for (const [name, value] of wanted) {
        if (stream[name] !== value)
          throw new ForeignStreamError(`a stream of the answer lacks the asked value of the label ${name}`);
      }
      return values.map(([time, line]) => ({ time: BigInt(time), message: line.slice(0, MAX_LINE_BYTES) }));
    })
    .sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
    .map(({ time, message }) => ({ ms: Number(time / 1_000_000n), message }));
}

/** The words of the parser would quote what somebody's program has printed. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer is no JSON');
  }
}
