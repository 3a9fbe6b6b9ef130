import { hash } from 'node:crypto';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { json } from 'node:stream/consumers';
import { TokenBucket } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import type { Verdict } from './kubernetes-tokens.ts';

export interface ApiKeysOptions {
  /** Absent: there is no API, and so there are no keys. */
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const PATH = '/api/v1/key';
/** A key that is revoked is good for so long. */
const STANDS_MS = 10_000;
const REFUSAL_STANDS_MS = 5_000;
const MAX_KEYS = 10_000;
const RATE = { perSecond: 50, burst: 100 };
const LIMIT_MS = 5_000;
const MAX_HEAD_BYTES = 16_384;
/** Longer is no key, and not worth a question. */
const LONGEST_KEY = 512;

const owner = z.object({ namespace: z.string(), role: z.string() });
/** Whose a key is; `unknown`: nobody's. */
type Owner = z.output<typeof owner> | 'unknown';

/**
 * Whether the holder of an API key may talk to the sandboxes of a namespace: whether it is the key's own, or an admin's key. The
 * API is asked, with the key itself, so that the gateway needs no right to read keys. What it says stands for ten seconds.
 */
export class ApiKeys {
  readonly #o: ApiKeysOptions;
  readonly #rate = new TokenBucket(RATE);
  /** By digest: the keys themselves are kept nowhere. */
  readonly #owners = new Map<string, { readonly owner: Owner; readonly untilMs: number }>();
  readonly #asking = new Map<string, Promise<Owner>>();

  constructor(options: ApiKeysOptions) {
    this.#o = options;
  }

  async judge(key: string, namespace: string): Promise<Verdict> {
    const { apiUrl, clock, log } = this.#o;
    if (apiUrl === undefined || key.length > LONGEST_KEY) return UNKNOWN_KEY;
    const digest = hash('sha256', key, 'base64');
    const known = this.#owners.get(digest);
    if (known !== undefined && known.untilMs > clock.monotonic()) return verdictOf(known.owner, namespace);
    const asking = this.#asking.get(digest);
    if (asking === undefined && this.#rate.take(clock.monotonic(), 0) > 0) return UNSURE;
    try {
      return verdictOf(await (asking ?? this.#ask(digest, key, apiUrl)), namespace);
    } catch (err) {
      log.warn({ err }, 'the API could not be asked whose an API key is');
      return UNSURE;
    }
  }

  /** Those who come with the same key at a time share the answer. */
  #ask(digest: string, key: string, apiUrl: string): Promise<Owner> {
    const answer = ownerOf(key, apiUrl)
      .then((found) => {
        this.#remember(digest, found);
        return found;
      })
      .finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, answer);
    return answer;
  }

  #remember(digest: string, found: Owner): void {
    const standsMs = found === 'unknown' ? REFUSAL_STANDS_MS : STANDS_MS;
    this.#owners.delete(digest);
    this.#owners.set(digest, { owner: found, untilMs: this.#o.clock.monotonic() + standsMs });
    const [oldest] = this.#owners.keys();
    if (this.#owners.size > MAX_KEYS && oldest !== undefined) this.#owners.delete(oldest);
  }
}

async function ownerOf(key: string, apiUrl: string): Promise<Owner> {
  const answer = await get(new URL(PATH, apiUrl), key);
  const { statusCode } = answer;
  if (statusCode === 401 || statusCode === 403) {
    answer.resume();
    return 'unknown';
  }
  if (statusCode !== 200) {
    answer.resume();
    throw new Error(`the API answered ${String(statusCode)} to ${PATH}`);
  }
  return owner.parse(await json(answer));
}

function get(url: URL, key: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === 'https:' ? requestSecurely : request;
  const sent = send(url, { headers: { 'X-API-Key': key }, maxHeaderSize: MAX_HEAD_BYTES, timeout: LIMIT_MS }, resolve);
  sent.once('timeout', () => sent.destroy(new Error(`no answer within ${LIMIT_MS / 1_000} s`)));
  sent.on('error', reject);
  sent.end();
  return promise;
}

function verdictOf(found: Owner, namespace: string): Verdict {
  if (found === 'unknown') return UNKNOWN_KEY;
  if (found.role === 'admin' || found.namespace === namespace) return undefined;
  const message = `The API key is of the namespace ${found.namespace}, the sandbox of ${namespace}`;
  return { kind: 'unauthorised', status: 403, message };
}

const UNKNOWN_KEY: Verdict = { kind: 'unauthorised', status: 401, message: 'The API does not know this API key' };
const UNSURE: Verdict = { kind: 'unsure', message: 'The API cannot be asked about the API key now; try again' };
