import type { Readable } from 'node:stream';
import { KubeError, getErrorCode } from '../errors.ts';
import type { CallTarget } from '../errors.ts';
import type { WireResponse } from './connection.ts';
import { CallEnded } from './deadline.ts';
import { parseRetryAfterMs } from './retry.ts';

/** The parts of a `Status` object that say what went wrong. */
export interface StatusObject {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number };
}

const MAX_QUOTE = 300;

/** Reads and parses a JSON body. Rejects when the connection breaks before the end of the body. */
export async function readJson(body: Readable): Promise<unknown> {
  const text = await readText(body);
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`answer is not JSON: ${text.slice(0, MAX_QUOTE)}`);
  }
}

/** Uses plain listeners because an async iterator costs as much as the rest of a small call. */
function readText(body: Readable): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  body.on('data', (chunk: Buffer) => chunks.push(chunk));
  body.once('end', () => resolve(chunks.length === 1 ? String(chunks[0]) : Buffer.concat(chunks).toString()));
  body.once('error', reject);
  body.once('close', () => {
    if (!body.readableEnded) reject(new Error('connection closed in the middle of the answer'));
  });
  return promise;
}

/** Reads the error of an unsuccessful answer. Quotes plain text, which proxies and overloaded servers send. */
export async function readError(target: CallTarget, { status, retryAfter, body }: WireResponse): Promise<KubeError> {
  const text = await readText(body);
  const answer = parseStatus(text) ?? { message: text.slice(0, MAX_QUOTE) };
  return toStatusError(target, { ...answer, code: status }, parseRetryAfterMs(retryAfter));
}

/** Builds an error from a `Status` object: the body of a failed call, or an ERROR event of a watch. */
export function toStatusError(target: CallTarget, answer: StatusObject, retryAfterMs?: number): KubeError {
  const { code: status = 500, reason, message, details } = answer;
  const seconds = details?.retryAfterSeconds;
  return new KubeError({
    ...getTarget(target),
    code: getErrorCode(status, reason),
    message: message === undefined || message === '' ? `HTTP ${status}` : message,
    status,
    reason,
    retryAfterMs: retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1_000),
  });
}

/** Builds the error of a call that ended without an answer. `sent`: the request may have reached the server. */
export function toCallError(target: CallTarget, error: unknown, { sent }: { readonly sent: boolean }): KubeError {
  if (error instanceof KubeError) return error;
  const cause = error instanceof Error && error.cause instanceof CallEnded ? error.cause : error;
  return new KubeError({
    ...getTarget(target),
    code: cause instanceof CallEnded ? cause.code : 'Network',
    message: cause instanceof Error ? cause.message : String(cause),
    sent,
    cause: error,
  });
}

function getTarget({ verb, resource, key }: CallTarget): CallTarget {
  return { verb, resource, key };
}

function parseStatus(text: string): StatusObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
