import { request as requestPlain } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as requestSecure } from 'node:https';
import { Transform } from 'node:stream';
import type { Readable } from 'node:stream';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { ApiError, badRequest, NO_RETRY } from '../../../errors/api-error.ts';
import { lostFileServer, noFileServer, stillTransfer } from '../../../errors/volume-errors.ts';
import type { Answer, BodyStream } from '../../../http/route.ts';
import type { FileServer } from './file-server.ts';

/** A request to the file server of a namespace. */
interface Hop {
  readonly namespace: string;
  readonly method: string;
  readonly path: string;
}

interface RelayDeps {
  readonly fileServer: FileServer;
  readonly clock: Pick<Clock, 'setTimeout'>;
}

interface Asked {
  readonly content: BodyStream;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/** A transfer may stand still so long. */
const IDLE_MS = 30_000;
/** Clients give up after as long. */
const LONGEST_MS = 60 * 60_000;
const OCTETS = 'application/octet-stream';
/** More than the longest list that the file server answers. */
const MOST_JSON_BYTES = 64 * 1_048_576;
const refusal = z.object({ message: z.string() });

/**
 * Passes a request on and answers as the file server does, both as they arrive. Throws the ApiError that the client gets; a body that
 * ends early ends the request, so that nothing of it counts.
 */
export async function sendToFileServer(deps: RelayDeps, hop: Hop, asked: Asked): Promise<Answer> {
  const hasBody = hop.method !== 'GET' && hop.method !== 'DELETE';
  const request = openRequest(deps, hop, hasBody ? asked.content.length : undefined);
  const failed = Promise.withResolvers<never>();
  const watch = watchTransfer(deps.clock, failed.reject);
  const onAbort = (): void => failed.reject(badRequest('the request ended early'));
  request.once('error', (error: NodeJS.ErrnoException) =>
    failed.reject(error.code === 'ECONNREFUSED' ? noFileServer() : lostFileServer()),
  );
  asked.signal.addEventListener('abort', onAbort, { once: true });
  if (asked.signal.aborted) onAbort();
  const upload = hasBody ? pipeBody(asked.content.stream, request, { onBytes: watch.restart, onAbort }) : undefined;
  if (!hasBody) request.end();
  try {
    const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
    const response = await Promise.race([answered, failed.promise]);
    const answer = await Promise.race([readAnswer(response, watch, failed.promise), failed.promise]);
    if (answer.stream === undefined) finish(request, watch);
    return answer;
  } catch (error) {
    finish(request, watch);
    throw error;
  } finally {
    asked.signal.removeEventListener('abort', onAbort);
    upload?.();
  }
}

function openRequest({ fileServer }: RelayDeps, hop: Hop, length: number | undefined): ClientRequest {
  const { url, authorization } = fileServer.sign(hop);
  const framing = length === undefined ? {} : { 'content-length': length };
  const send = url.protocol === 'https:' ? requestSecure : requestPlain;
  return send(url, { method: hop.method, headers: { authorization, ...framing } });
}

interface Watch {
  readonly restart: () => void;
  readonly stop: () => void;
}

/** Ends a transfer in which nothing moves, and one that takes longer than any client waits. */
function watchTransfer(clock: RelayDeps['clock'], fail: (error: ApiError) => void): Watch {
  const onStill = (): void => fail(stillTransfer(IDLE_MS / 1_000));
  const longest = clock.setTimeout(() => fail(stillTransfer(LONGEST_MS / 1_000)), LONGEST_MS);
  let idle = clock.setTimeout(onStill, IDLE_MS);
  const restart = (): void => {
    idle.cancel();
    idle = clock.setTimeout(onStill, IDLE_MS);
  };
  const stop = (): void => {
    idle.cancel();
    longest.cancel();
  };
  return { restart, stop };
}

/** A request without its end is none for the other side. */
function finish(request: ClientRequest, watch: Watch): void {
  watch.stop();
  request.on('error', () => undefined);
  request.destroy();
}

interface BodyEvents {
  readonly onBytes: () => void;
  readonly onAbort: () => void;
}

/** Pipes a body, and returns what stops it. */
function pipeBody(stream: Readable, request: ClientRequest, { onBytes, onAbort }: BodyEvents): () => void {
  const counted = countBytes(onBytes);
  stream.once('error', onAbort);
  stream.pipe(counted).pipe(request);
  return () => {
    stream.unpipe(counted);
    stream.off('error', onAbort);
    stream.on('error', () => undefined);
    counted.destroy();
  };
}

function countBytes(onBytes: () => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onBytes();
      done(null, chunk);
    },
  });
}

async function readAnswer(response: IncomingMessage, watch: Watch, failed: Promise<never>): Promise<Answer> {
  const { statusCode: status = 500, headers } = response;
  if (headers['content-type'] === OCTETS) return buildDownload(response, watch, failed);
  if (status === 204) return { status };
  const body = parse(await readText(response, watch));
  if (status < 300) return { status, body };
  // The signature is the API's: a client can do nothing about it.
  if (status === 401 || status >= 500) throw explainFailure(status, body);
  const message = refusal.safeParse(body).data?.message ?? 'the file server refused the request';
  throw new ApiError({ status, message });
}

function explainFailure(status: number, body: unknown): ApiError {
  const message = refusal.safeParse(body).data?.message;
  if (status === 507 && message !== undefined) return new ApiError({ status, message, headers: NO_RETRY });
  return lostFileServer();
}

/** The length is promised: a connection that ends early ends that of the client, too. */
function buildDownload(response: IncomingMessage, watch: Watch, failed: Promise<never>): Answer {
  const { 'content-length': length } = response.headers;
  const counted = countBytes(watch.restart);
  failed.catch((error: unknown) => counted.destroy(error as ApiError));
  response.once('error', (error) => counted.destroy(error));
  response.once('close', () => {
    if (!response.complete) counted.destroy(new Error('the file server ended the connection'));
  });
  counted.once('close', () => {
    watch.stop();
    response.destroy();
  });
  response.pipe(counted);
  return {
    status: 200,
    ...(length === undefined ? {} : { headers: { 'Content-Length': length } }),
    stream: { type: OCTETS, content: counted },
  };
}

async function readText(response: IncomingMessage, watch: Watch): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    watch.restart();
    parts.push(chunk as Buffer);
    bytes += (chunk as Buffer).length;
    if (bytes > MOST_JSON_BYTES) throw lostFileServer();
  }
  return Buffer.concat(parts).toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
