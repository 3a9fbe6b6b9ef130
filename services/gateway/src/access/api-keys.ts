import { hash } from 'node:crypto';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { json } from 'node:stream/consumers';
import type { Clock, Logger } from '@sandlot/std';
import { z } from 'zod';
import { CredentialChecks } from './credential-checks.ts';
import type { Denial } from './denial.ts';
import { ExpiringMap } from '../limits/expiring-map.ts';

export interface ApiKeysOptions {
  /** Undefined: there is no API, and so there are no keys. */
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const PATH = '/api/v1/key';
/** How long an answer of the API counts: a revoked key works for this long. */
const FOUND_MS = 10_000;
const UNKNOWN_MS = 5_000;
const MAX_KEYS = 10_000;
const REQUEST_LIMIT_MS = 5_000;
const MAX_HEAD_BYTES = 16_384;
/** The gateway refuses longer keys without asking. */
const MAX_KEY_LENGTH = 512;

const ownerSchema = z.object({ namespace: z.string(), role: z.string() });
/** Who owns a key; `unknown`: the API does not know the key. */
type Owner = z.output<typeof ownerSchema> | 'unknown';

/**
 * Decides whether the holder of an API key may talk to the sandboxes of a namespace: a key of that namespace and an admin key
 * may. It asks the API with the key itself, so the gateway needs no right to read keys, and remembers the answer for a while.
 */
export class ApiKeys {
  readonly #o: ApiKeysOptions;
  readonly #checks: CredentialChecks;
  /** By digest: the gateway keeps no keys. */
  readonly #owners = new ExpiringMap<Owner>(MAX_KEYS);
  readonly #asking = new Map<string, Promise<Owner>>();

  constructor(options: ApiKeysOptions) {
    this.#o = options;
    this.#checks = new CredentialChecks(options.clock);
  }

  /** Why the key does not allow the namespace; `source` is who asks (see `limits/source.ts`). */
  async authorise(key: string, namespace: string, source: string): Promise<Denial> {
    const { apiUrl, clock, log } = this.#o;
    if (apiUrl === undefined || key.length > MAX_KEY_LENGTH) return UNKNOWN_KEY;
    const digest = hash('sha256', key, 'base64');
    const known = this.#owners.get(digest, clock.monotonic());
    if (known !== undefined) return findDenial(known.value, namespace);
    const asking = this.#asking.get(digest);
    const refused = asking === undefined ? this.#checks.take(digest, source) : undefined;
    if (refused !== undefined) return refused;
    try {
      return findDenial(await (asking ?? this.#ask(digest, key, apiUrl)), namespace);
    } catch (err) {
      log.warn({ err }, 'the API could not be asked about an API key');
      return UNSURE;
    }
  }

  /** Asks the API. Concurrent requests with the same key share the answer. */
  #ask(digest: string, key: string, apiUrl: string): Promise<Owner> {
    const answer = fetchOwner(key, apiUrl)
      .then((owner) => {
        if (owner !== 'unknown') this.#checks.recordValid(digest);
        const keptMs = owner === 'unknown' ? UNKNOWN_MS : FOUND_MS;
        this.#owners.set(digest, owner, this.#o.clock.monotonic() + keptMs);
        return owner;
      })
      .finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, answer);
    return answer;
  }
}

async function fetchOwner(key: string, apiUrl: string): Promise<Owner> {
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
  return ownerSchema.parse(await json(answer));
}

function get(url: URL, key: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === 'https:' ? requestSecurely : request;
  const headers = { 'X-API-Key': key };
  const sent = send(url, { headers, maxHeaderSize: MAX_HEAD_BYTES, timeout: REQUEST_LIMIT_MS }, resolve);
  sent.once('timeout', () => sent.destroy(new Error(`no answer within ${REQUEST_LIMIT_MS / 1_000} s`)));
  sent.on('error', reject);
  sent.end();
  return promise;
}

function findDenial(owner: Owner, namespace: string): Denial {
  if (owner === 'unknown') return UNKNOWN_KEY;
  if (owner.role === 'admin' || owner.namespace === namespace) return undefined;
  const message = `The API key is of the namespace ${owner.namespace}, the sandbox of ${namespace}`;
  return { kind: 'unauthorised', status: 403, message };
}

const UNKNOWN_KEY: Denial = { kind: 'unauthorised', status: 401, message: 'The API does not know this API key' };
const UNSURE: Denial = { kind: 'unsure', message: 'The API cannot be asked about the API key now; try again' };
