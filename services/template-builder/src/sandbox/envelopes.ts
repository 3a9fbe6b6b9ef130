/** One message of a Connect stream: JSON behind a byte of flags and four of length. */
export interface Envelope {
  /** The last message, which has the error of the stream, if there is one. */
  readonly isEnd: boolean;
  readonly message: unknown;
}

const HEAD_BYTES = 5;
const COMPRESSED = 0x01;
const END = 0x02;
/** More than the daemon puts into one message. */
const MOST_BYTES = 4 * 2 ** 20;

/** Puts a message into its envelope. */
export function encloseMessage(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

/** Reads the messages of a stream as they arrive. Throws when the stream ends in the middle of one, or one is too long. */
export async function* readEnvelopes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Envelope> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (let size = findSize(rest); size !== undefined && rest.length >= HEAD_BYTES + size; size = findSize(rest)) {
      yield open(rest, size);
      rest = rest.subarray(HEAD_BYTES + size);
    }
  }
  if (rest.length > 0) throw new Error('the stream ended in the middle of a message');
}

function findSize(rest: Buffer): number | undefined {
  if (rest.length < HEAD_BYTES) return undefined;
  const size = rest.readUInt32BE(1);
  if (size > MOST_BYTES) throw new Error(`a message of ${size} bytes is too long`);
  return size;
}

function open(rest: Buffer, size: number): Envelope {
  const flags = rest[0] ?? 0;
  if ((flags & COMPRESSED) !== 0) throw new Error('a message is compressed, which was not asked for');
  const message: unknown = JSON.parse(rest.subarray(HEAD_BYTES, HEAD_BYTES + size).toString());
  return { isEnd: (flags & END) !== 0, message };
}
