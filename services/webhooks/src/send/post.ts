import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { IncomingMessage, RequestOptions } from 'node:http';
import type { Clock } from '@sandlot/std';
import { findTargetProblem, TargetAddresses } from '@sandlot/team-events';
import type { TargetRules } from '@sandlot/team-events';
import { AddressRefusedError, createGuardedLookup, HostUnresolvedError } from './lookup.ts';
import type { ResolveHost } from './lookup.ts';

export interface SenderOptions {
  readonly rules: TargetRules;
  readonly resolve: ResolveHost;
  readonly clock: Clock;
}

export interface Message {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came of a request. */
export interface Outcome {
  /** Undefined: no answer came. */
  readonly statusCode: number | undefined;
  /** Why it failed, for the owner of the webhook; undefined: the receiver took it. */
  readonly error: string | undefined;
  readonly durationMs: number;
}

export type Sender = (message: Message) => Promise<Outcome>;

/** From the look-up of the host to the headers of the answer. */
const PATIENCE_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;

/**
 * Posts to addresses that tenants choose. Each request has a connection of its own, to an address that was just judged; it follows no
 * redirect, and reads nothing of an answer but its status. Never rejects.
 */
export function createSender({ rules, resolve, clock }: SenderOptions): Sender {
  const addresses = new TargetAddresses(rules);
  const lookup = createGuardedLookup(resolve, addresses);
  return async (message) => {
    const beginMs = clock.monotonic();
    const late = new AbortController();
    const timer = clock.setTimeout(() => late.abort(), PATIENCE_MS);
    try {
      const problem = findTargetProblem(message.url, rules);
      if (problem !== undefined) return fail(problem);
      const statusCode = await post(message, { lookup, signal: late.signal });
      return { statusCode, error: explainStatus(statusCode), durationMs: elapsed() };
    } catch (error) {
      return fail(late.signal.aborted ? `no answer within ${PATIENCE_MS / 1_000} s` : explain(error));
    } finally {
      timer.cancel();
    }
    function elapsed(): number {
      return Math.round(clock.monotonic() - beginMs);
    }
    function fail(error: string): Outcome {
      return { statusCode: undefined, error, durationMs: elapsed() };
    }
  };
}

function post({ url, headers, body }: Message, options: Pick<RequestOptions, 'lookup' | 'signal'>): Promise<number> {
  const target = new URL(url);
  const send = target.protocol === 'https:' ? requestTls : requestPlain;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const request = send(target, {
    ...options,
    method: 'POST',
    agent: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
  });
  request.once('response', (answer: IncomingMessage) => {
    // What follows may be endless.
    answer.destroy();
    resolve(answer.statusCode ?? 0);
  });
  // Also after the answer, whose connection is cut.
  request.on('error', reject);
  request.end(body);
  return promise;
}

function explainStatus(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined;
  const isRedirect = status >= 300 && status < 400;
  return isRedirect ? `status ${status}: redirects are not followed` : `status ${status}`;
}

/** Only what says something about the receiver. Addresses stay out of it: a tenant must not explore the cluster's names by it. */
function explain(error: unknown): string {
  if (error instanceof AddressRefusedError || error instanceof HostUnresolvedError) return error.message;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return (
    MESSAGES[code] ?? (/^(?:ERR_TLS|CERT|DEPTH|SELF|UNABLE)/u.test(code) ? `TLS: ${code}` : 'the connection failed')
  );
}

const MESSAGES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the connection timed out',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
};
