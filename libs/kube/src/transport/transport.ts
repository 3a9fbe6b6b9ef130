import type { Readable } from 'node:stream';
import { Gate } from '@sandlot/pacing';
import type { Clock, Random } from '@sandlot/std';
import type { Priority } from '../client/types.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { KubeError } from '../errors.ts';
import type { CallTarget } from '../errors.ts';
import type { KubeMetrics } from '../metrics.ts';
import { toCallError, readJson, readError } from './answer.ts';
import { NotProcessed } from './connection.ts';
import type { WireResponse } from './connection.ts';
import { Deadline } from './deadline.ts';
import { createBuckets } from './limiter.ts';
import type { RateLimits } from './limiter.ts';
import { Pool } from './pool.ts';
import { retryDelayMs } from './retry.ts';

export interface ApiRequest extends CallTarget {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. The path of the server's URL is prepended. */
  readonly path: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly idempotent: boolean;
  /** Sent over a connection for large answers. A slow reader of one must not delay small calls. */
  readonly isBulk?: boolean | undefined;
  readonly priority: Priority;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
}

export interface TransportOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: KubeMetrics;
  readonly userAgent: string;
  readonly limits: RateLimits;
  /** As of {@link Pool}. */
  readonly beforeSend?: (() => void) | undefined;
}

type Reader<T> = (response: WireResponse) => Promise<T>;
type Outcome<T> = { readonly value: T } | { readonly error: KubeError };

interface Attempt<T> {
  readonly request: ApiRequest;
  readonly deadline: Deadline;
  readonly read: Reader<T>;
  /** An earlier attempt may have reached the server, so the outcome of the call stays unknown without an answer. */
  readonly sentBefore: boolean;
}

/**
 * Sends requests over a {@link Pool} with a deadline, a rate limit and retries, and background requests through a
 * {@link Gate}. Every failure is a {@link KubeError}.
 */
export class Transport {
  readonly #options: TransportOptions;
  readonly #pool: Pool;
  readonly #buckets: ReturnType<typeof createBuckets>;
  readonly #background: Gate;
  readonly #basePath: string;
  #refreshing: Promise<boolean> | undefined;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#pool = new Pool(options);
    this.#buckets = createBuckets(options.limits);
    this.#background = new Gate(options.clock);
    this.#basePath = new URL(options.credentials.server).pathname.replace(/\/$/, '');
  }

  /** Sends a request and returns the parsed JSON of the answer. */
  async call(request: ApiRequest): Promise<unknown> {
    using deadline = new Deadline(this.#options.clock, request);
    return await this.#finish(request, deadline, ({ body }) => readJson(body));
  }

  /**
   * Sends a request and returns the body of the answer as a stream. The deadline covers the whole stream. Callers convert
   * errors of the stream with {@link toCallError}.
   */
  open(request: ApiRequest, deadline: Deadline): Promise<Readable> {
    return this.#finish(request, deadline, ({ body }) => Promise.resolve(body));
  }

  deadline(request: ApiRequest): Deadline {
    return new Deadline(this.#options.clock, request);
  }

  close(): void {
    this.#pool.close();
  }

  async #finish<T>(request: ApiRequest, deadline: Deadline, read: Reader<T>): Promise<T> {
    const { clock, metrics } = this.#options;
    const { verb, resource } = request;
    const startedAtMs = clock.monotonic();
    const outcome = await this.#sendWithRetries(request, deadline, read);
    const code = 'error' in outcome ? formatCodeLabel(outcome.error) : '2xx';
    metrics.requestFinished({ verb, resource, code }, (clock.monotonic() - startedAtMs) / 1_000);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  async #sendWithRetries<T>(request: ApiRequest, deadline: Deadline, read: Reader<T>): Promise<Outcome<T>> {
    const { clock, metrics, random } = this.#options;
    const { idempotent, verb, resource } = request;
    let mayRefresh = true;
    let sentBefore = false;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt({ request, deadline, read, sentBefore });
      if ('value' in outcome) return outcome;
      const error: KubeError = outcome.error;
      sentBefore = error.sent;
      if (error.code === 'Unauthorized' && mayRefresh) {
        mayRefresh = false;
        if (!(await this.#refresh())) return outcome;
      } else {
        const delayMs = retryDelayMs({ error, attempt, idempotent, remainingMs: deadline.remainingMs(), random });
        if (delayMs === undefined || deadline.signal.aborted) return outcome;
        await clock.sleep(delayMs, deadline.signal);
      }
      metrics.requestRetried({ verb, resource, code: formatCodeLabel(error) });
    }
  }

  /** Reads the credentials again, once for a burst of 401s, and reconnects because connections may carry the old ones. */
  #refresh(): Promise<boolean> {
    this.#refreshing ??= this.#readCredentials().finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  async #readCredentials(): Promise<boolean> {
    const { credentials } = this.#options;
    if (credentials.refresh === undefined) return false;
    try {
      await credentials.refresh();
    } catch {
      return false;
    }
    this.#pool.retire();
    return true;
  }

  async #attempt<T>({ request, deadline, read, sentBefore }: Attempt<T>): Promise<Outcome<T>> {
    let sent = sentBefore;
    try {
      await this.#throttle(request, deadline);
      const headers = await this.#headers(request);
      deadline.signal.throwIfAborted();
      const { method, body, verb, isBulk = verb === 'watch' || verb === 'list' } = request;
      const wire = { method, path: this.#basePath + request.path, headers, body, signal: deadline.signal };
      const send = (): Promise<WireResponse> => {
        sent = true;
        return this.#pool.send(isBulk ? 'bulk' : 'call', wire);
      };
      const canWait = request.priority === 'background';
      const response = await (canWait ? this.#background.pass(send, deadline.signal) : send());
      if (response.status < 300) return { value: await read(response) };
      return { error: await readError(request, response) };
    } catch (error) {
      return { error: toCallError(request, error, { sent: error instanceof NotProcessed ? sentBefore : sent }) };
    }
  }

  async #throttle({ priority }: ApiRequest, deadline: Deadline): Promise<void> {
    const { clock, metrics } = this.#options;
    const waitMs = this.#buckets[priority].take(clock.monotonic(), deadline.remainingMs());
    if (waitMs === Infinity) throw deadline.timeoutError();
    if (waitMs === 0) return;
    metrics.requestThrottled(priority, waitMs / 1_000);
    await clock.sleep(waitMs, deadline.signal);
  }

  async #headers(request: ApiRequest): Promise<Record<string, string>> {
    const { credentials, userAgent } = this.#options;
    const { verb, resource, key, contentType } = request;
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': userAgent };
    const authorization = await credentials.getAuthorization().catch((cause: unknown) => {
      throw new KubeError({ verb, resource, key, code: 'Unauthorized', message: String(cause), sent: false, cause });
    });
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (credentials.impersonate !== undefined) headers['impersonate-user'] = credentials.impersonate;
    if (contentType !== undefined) headers['content-type'] = contentType;
    return headers;
  }
}

const formatCodeLabel = ({ status, code }: KubeError): string => (status === undefined ? code : String(status));
