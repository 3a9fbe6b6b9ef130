import { request as requestPlain } from 'node:http';
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestSecure } from 'node:https';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import type { ApiError } from '../../../errors/api-error.ts';
import { noBuilder, refusedFiles, stoodStill, tooLargeFiles } from '../../../errors/build-errors.ts';

/** A body with its bounds. */
export interface Archive {
  readonly stream: Readable;
  /** As the client declares it. */
  readonly length: number | undefined;
  readonly mostBytes: number;
  /** How long it may stand still, in ms. */
  readonly idleMs: number;
  /** How long the template-builder may take to store it, in ms. */
  readonly storeMs: number;
  readonly clock: Pick<Clock, 'setTimeout'>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** The refusals of the template-builder that are about the archive. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 503]);
const MOST_REFUSAL_BYTES = 16_384;
const refusal = z.object({ message: z.string().max(4_096) });

/**
 * Sends an archive as it arrives, and resolves once the other side has stored it. Any other end ends the request, so that nothing
 * counts as stored. Rejects with the ApiError that the client gets.
 */
export async function sendArchive(url: URL, headers: OutgoingHttpHeaders, archive: Archive): Promise<void> {
  const { stream, length, mostBytes, signal } = archive;
  if (length !== undefined && length > mostBytes) throw tooLargeFiles(mostBytes);
  const send = url.protocol === 'https:' ? requestSecure : requestPlain;
  const framing = length === undefined ? {} : { 'content-length': length };
  const request = send(url, { method: 'PUT', headers: { ...headers, ...framing } });
  const ended = Promise.withResolvers<IncomingMessage>();
  const fail = (error: ApiError): void => ended.reject(error);
  const onAbort = (): void => fail(refusedFiles(400, 'the upload ended early'));
  using idle = limitSilence(archive, fail);
  const counter = countBytes(archive, { onBytes: idle.restart, onEnd: idle.waitForStore, fail });
  request.once('response', ended.resolve);
  request.once('error', () => fail(noBuilder()));
  stream.once('error', onAbort);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  stream.pipe(counter).pipe(request);
  try {
    await readAnswer(await ended.promise);
    // A success for half a body is none.
    if (!stream.readableEnded) throw noBuilder();
  } finally {
    signal.removeEventListener('abort', onAbort);
    stream.unpipe(counter);
    counter.destroy();
    endRequest(request);
  }
}

/** A request without its end is none for the other side: it stores nothing. */
function endRequest(request: ClientRequest): void {
  request.on('error', () => undefined);
  request.destroy();
}

interface Watcher {
  readonly onBytes: () => void;
  readonly onEnd: () => void;
  readonly fail: (error: ApiError) => void;
}

/** Passes the bytes on, up to the most that there may be. A body that ends early is not passed on as whole. */
function countBytes({ mostBytes }: Archive, { onBytes, onEnd, fail }: Watcher): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes > mostBytes) {
        fail(tooLargeFiles(mostBytes));
        return;
      }
      onBytes();
      done(null, chunk);
    },
    flush(done) {
      onEnd();
      done();
    },
  });
}

/** Ends an upload in which nothing moves, whichever side it waits for. */
function limitSilence({ clock, idleMs, storeMs }: Archive, fail: (error: ApiError) => void) {
  const stop = (): void => fail(stoodStill(idleMs / 1_000));
  let timer = clock.setTimeout(stop, idleMs);
  return {
    restart: (): void => {
      timer.cancel();
      timer = clock.setTimeout(stop, idleMs);
    },
    waitForStore: (): void => {
      timer.cancel();
      timer = clock.setTimeout(() => fail(noBuilder()), storeMs);
    },
    [Symbol.dispose]: (): void => timer.cancel(),
  };
}

async function readAnswer(response: IncomingMessage): Promise<void> {
  const { statusCode: status = 500 } = response;
  if (status >= 200 && status < 300) {
    response.resume();
    return;
  }
  const message = await readMessage(response);
  if (message === undefined || !REFUSALS.has(status)) throw noBuilder();
  throw status === 503 ? noBuilder(message) : refusedFiles(status, message);
}

async function readMessage(response: IncomingMessage): Promise<string | undefined> {
  try {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > MOST_REFUSAL_BYTES) return undefined;
    }
    return refusal.safeParse(JSON.parse(text)).data?.message;
  } catch {
    return undefined;
  }
}
