import { createHash } from 'node:crypto';
import type { Sandbox } from 'e2b';

/** How a call of a client ended. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** The timeout of every call below. No call may hang longer, whichever component dies. */
export const PATIENCE_MS = 20_000;
/** For scheduling on a busy machine. */
const SLACK_MS = 5_000;

const LINES = 40;
const CHUNKS = 32;
const CHUNK = Buffer.alloc(1 << 20, Buffer.from('0123456789abcde\n'));
export const UPLOAD_BYTES = CHUNKS * CHUNK.length;

/** Everything the command prints. */
export const PRINTED = Array.from({ length: LINES }, (_, index) => `line ${index + 1}\n`).join('');

/** SHA-256 of the first `bytes` of the upload. */
export function buildDigestCommand(bytes: number): string {
  const hash = createHash('sha256');
  for (let left = bytes; left > 0; left -= CHUNK.length) hash.update(CHUNK.subarray(0, Math.min(left, CHUNK.length)));
  return hash.digest('hex');
}

/** A command that prints and an upload that is sent, both for some seconds. */
export interface Work {
  /** Resolves when both run: lines have arrived and bytes have been sent. */
  readonly isUnderWay: Promise<unknown>;
  readonly command: Promise<Outcome<string>>;
  readonly upload: Promise<Outcome<string>>;
}

export const WORK = { trace: '/tmp/trace', upload: '/home/user/upload.bin' } as const;

/** Starts the work in a sandbox. The command also writes its output to a file. */
export function beginWork(sandbox: Sandbox): Work {
  const [printed, sent] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const each = `printf 'line %s\\n' $i | tee -a ${WORK.trace}; sleep 0.1`;
  const command = sandbox.commands.run(`for i in $(seq ${LINES}); do ${each}; done`, {
    timeoutMs: PATIENCE_MS,
    onStdout: () => {
      printed.resolve(undefined);
    },
  });
  const upload = sandbox.files.write(WORK.upload, trickle(sent.resolve), { requestTimeoutMs: PATIENCE_MS });
  return {
    isUnderWay: Promise.all([printed.promise, sent.promise]),
    command: readOutcome(command.then(({ stdout }) => stdout)),
    upload: readOutcome(upload.then(({ path }) => path)),
  };
}

/** A stream of one MiB every 100 ms. Calls back when the fifth is read: the ones before are being sent. */
function trickle(onFifth: (nothing: undefined) => void): ReadableStream {
  let count = 0;
  return new ReadableStream({
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, 100));
      count += 1;
      if (count === 5) onFifth(undefined);
      controller.enqueue(new Uint8Array(CHUNK));
      if (count === CHUNKS) controller.close();
    },
  });
}

/** Waits for the outcome of a call. Throws when the call hangs beyond the client's timeout. */
export async function readOutcome<T>(call: Promise<T>): Promise<Outcome<T>> {
  const { promise: hung, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error(`a call of the client hangs for more than ${PATIENCE_MS + SLACK_MS} ms`));
  }, PATIENCE_MS + SLACK_MS);
  const ended = call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  try {
    return await Promise.race([ended, hung]);
  } finally {
    clearTimeout(timer);
  }
}

/** The error of a failed call. Throws when the call succeeded. */
export function getError(end: Outcome<unknown>): unknown {
  if ('value' in end) throw new Error(`the call succeeded: ${JSON.stringify(end.value)}`);
  return end.error;
}
