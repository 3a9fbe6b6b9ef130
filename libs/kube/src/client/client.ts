import { systemClock, systemRandom } from '@sandlot/std';
import type { Clock, Random } from '@sandlot/std';
import type { Credentials } from '../credentials/credentials.ts';
import { KubeError, isNotFound } from '../errors.ts';
import type { Verb } from '../errors.ts';
import { noMetrics } from '../metrics.ts';
import type { KubeMetrics } from '../metrics.ts';
import { getApiVersion, formatKey } from '../objects/object.ts';
import type { JsonObject, JsonPatchOp, KubeObject, ObjectKey, Resource } from '../objects/object.ts';
import { pods } from '../objects/resources.ts';
import { toCallError, toStatusError } from '../transport/answer.ts';
import type { StatusObject } from '../transport/answer.ts';
import { buildDefaultLimits } from '../transport/limiter.ts';
import type { RateLimits } from '../transport/limiter.ts';
import { Transport } from '../transport/transport.ts';
import type { ApiRequest } from '../transport/transport.ts';
import { readLines } from './lines.ts';
import { formatLabel, getPath, isObjectName } from './paths.ts';
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  KubeClient,
  ListOptions,
  ListPage,
  LogOptions,
  WatchEvent,
  WatchOptions,
} from './types.ts';

const DEADLINE_MS = 15_000;
const PAGE_SIZE = 500;

/** The client ends a watch this much later than the server should. */
const WATCH_GRACE_MS = 10_000;
const WATCH_SECONDS = 300;

/** Servers send the first bookmark within two minutes, then one per minute. */
const WATCH_SILENCE_MS = 180_000;

const JSON_TYPE = 'application/json';

export interface KubeClientOptions {
  readonly credentials: Credentials;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly metrics?: KubeMetrics | undefined;
  /** Default `sandlot-kube`. */
  readonly userAgent?: string | undefined;
  /** Client-side rate limit by priority. Priorities that are left out keep their default. */
  readonly limits?: Partial<RateLimits> | undefined;
  /** Called just before each request is sent. A request whose signal it aborts is not sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** Creates a client for one API server. It connects on first use and keeps its connections until `close`. */
export function createKubeClient(options: KubeClientOptions): KubeClient {
  const { credentials, clock = systemClock, random = systemRandom, metrics = noMetrics } = options;
  const { userAgent = 'sandlot-kube', beforeSend } = options;
  const limits = { ...buildDefaultLimits(), ...options.limits };
  return new HttpKubeClient(new Transport({ credentials, clock, random, metrics, userAgent, limits, beforeSend }));
}

interface Call {
  readonly verb: Verb;
  readonly method: ApiRequest['method'];
  readonly key: ObjectKey;
  readonly options: CallOptions;
  readonly query?: Parameters<typeof getPath>[2];
  readonly body?: object | undefined;
  readonly contentType?: string;
  /** Default true: a repeated patch, or create with a chosen name, has no effect or fails as Conflict or AlreadyExists. */
  readonly idempotent?: boolean;
  readonly subresource?: string;
}

class HttpKubeClient implements KubeClient {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get<T extends KubeObject>(resource: Resource<T>, key: ObjectKey, options: CallOptions = {}): Promise<T> {
    return this.#call(resource, { verb: 'get', method: 'GET', key, options });
  }

  async find<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey,
    options: CallOptions = {},
  ): Promise<T | undefined> {
    try {
      return await this.get(resource, key, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    const { namespace, labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch } = options;
    const query = {
      labelSelector,
      fieldSelector,
      limit,
      continue: options.continue,
      resourceVersion,
      resourceVersionMatch,
    };
    const key = { namespace, name: '' };
    const list = await this.#call<ListAnswer<T>>(resource, { verb: 'list', method: 'GET', key, options, query });
    const apiVersion = getApiVersion(resource);
    const items = list.items ?? [];
    for (const item of items) {
      item.apiVersion ??= apiVersion;
      item.kind ??= resource.kind;
    }
    const { resourceVersion: listed = '', continue: next } = list.metadata;
    return { items, resourceVersion: listed, continue: next === '' ? undefined : next };
  }

  async listAll<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListPage<T>> {
    let page = await this.list(resource, { limit: PAGE_SIZE, ...options });
    const { items } = page;
    while (page.continue !== undefined) {
      // The continue token contains the resourceVersion of its snapshot, and the server refuses another one beside it.
      const rest = { ...options, resourceVersion: undefined, resourceVersionMatch: undefined };
      page = await this.list(resource, { limit: PAGE_SIZE, ...rest, continue: page.continue });
      for (const item of page.items) items.push(item);
    }
    return { items, resourceVersion: page.resourceVersion };
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T, options: CallOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata;
    const idempotent = name !== undefined;
    const key = { namespace, name: name ?? '' };
    const body = { ...object, apiVersion: getApiVersion(resource), kind: resource.kind };
    return this.#call(resource, { verb: 'create', method: 'POST', key, options, body, idempotent });
  }

  mergePatch<T extends KubeObject>(...call: PatchCall<T, JsonObject>): Promise<T> {
    const [resource, key, body, options = {}] = call;
    const contentType = 'application/merge-patch+json';
    return this.#call(resource, { verb: 'mergePatch', method: 'PATCH', key, options, body, contentType });
  }

  patchJson<T extends KubeObject>(...call: PatchCall<T, readonly JsonPatchOp[]>): Promise<T> {
    const [resource, key, body, options = {}] = call;
    const contentType = 'application/json-patch+json';
    const idempotent = body[0]?.op === 'test';
    return this.#call(resource, { verb: 'jsonPatch', method: 'PATCH', key, options, body, contentType, idempotent });
  }

  apply<T extends KubeObject>(resource: Resource<T>, object: T, options: ApplyOptions): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    const body = { ...object, apiVersion: getApiVersion(resource), kind: resource.kind };
    const key = { namespace, name };
    const query = { force: options.force };
    const contentType = 'application/apply-patch+yaml';
    return this.#call(resource, { verb: 'apply', method: 'PATCH', key, options, query, body, contentType });
  }

  async delete(resource: Resource<KubeObject>, key: ObjectKey, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options;
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      gracePeriodSeconds,
    };
    await this.#call(resource, { verb: 'delete', method: 'DELETE', key, options, body });
  }

  async evict(key: ObjectKey, options: CallOptions = {}): Promise<void> {
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: key };
    const subresource = 'eviction';
    // Here, 429 means that a disruption budget forbids the eviction, not that the client should slow down.
    const idempotent = false;
    await this.#call(pods, { verb: 'evict', method: 'POST', key, options, body, subresource, idempotent });
  }

  async *watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, sendInitialEvents } = options;
    const { timeoutSeconds = WATCH_SECONDS } = options;
    const resourceVersionMatch = sendInitialEvents === true ? 'NotOlderThan' : undefined;
    const selection = { labelSelector, fieldSelector, resourceVersion, resourceVersionMatch, sendInitialEvents };
    const request = buildRequest(resource, {
      verb: 'watch',
      method: 'GET',
      key: { namespace, name: '' },
      options: { ...options, deadlineMs: options.deadlineMs ?? timeoutSeconds * 1_000 + WATCH_GRACE_MS },
      query: { ...selection, watch: true, allowWatchBookmarks: true, timeoutSeconds },
    });
    using deadline = this.#transport.deadline(request);
    try {
      const body = await this.#transport.open(request, deadline);
      deadline.limitSilence(options.silenceMs ?? WATCH_SILENCE_MS);
      for await (const line of readLines(body)) {
        const event = JSON.parse(line) as WatchLine<T>;
        if (event.type === 'ERROR') throw toStatusError(request, event.object);
        yield event;
        deadline.recordActivity();
      }
    } catch (error) {
      throw toCallError(request, error, { sent: true });
    } finally {
      deadline.cancel();
    }
  }

  async *readLog(key: ObjectKey, options: LogOptions): AsyncGenerator<Buffer> {
    const { container, sinceTime, tailLines, limitBytes } = options;
    const query = { container, sinceTime, tailLines, limitBytes, timestamps: true };
    const call: Call = { verb: 'get', method: 'GET', key, options, query, subresource: 'log' };
    if (!isObjectName(key.name)) throw refuseName(pods, call);
    const request = { ...buildRequest(pods, call), isBulk: true };
    using deadline = this.#transport.deadline(request);
    try {
      for await (const chunk of await this.#transport.open(request, deadline)) yield chunk as Buffer;
    } catch (error) {
      throw toCallError(request, error, { sent: true });
    } finally {
      deadline.cancel();
    }
  }

  async close(): Promise<void> {
    this.#transport.close();
  }

  async #call<T>(resource: Resource<KubeObject>, call: Call): Promise<T> {
    if (call.verb !== 'create' && !isObjectName(call.key.name)) throw refuseName(resource, call);
    return (await this.#transport.call(buildRequest(resource, call))) as T;
  }
}

type PatchCall<T extends KubeObject, Body> = [resource: Resource<T>, key: ObjectKey, body: Body, options?: CallOptions];

interface ListAnswer<T> {
  readonly items?: T[] | null;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
}

type WatchLine<T> = WatchEvent<T> | { readonly type: 'ERROR'; readonly object: StatusObject };

function refuseName(resource: Resource<KubeObject>, { verb, key, options, subresource }: Call): KubeError {
  const target = { verb, resource: formatLabel(resource, subresource ?? options.subresource), key: formatKey(key) };
  return new KubeError({ ...target, code: 'NotFound', message: 'no object can have this name', sent: false });
}

function buildRequest(resource: Resource<KubeObject>, call: Call): ApiRequest {
  const { verb, method, key, options, body } = call;
  const { fieldManager, priority = 'normal', deadlineMs = DEADLINE_MS, signal } = options;
  const subresource = call.subresource ?? options.subresource;
  const name = verb === 'create' || key.name === '' ? undefined : key.name;
  const path = getPath(resource, { namespace: key.namespace, name, subresource }, { ...call.query, fieldManager });
  return {
    verb,
    resource: formatLabel(resource, subresource),
    key: formatKey(key),
    method,
    path,
    body: body === undefined ? undefined : JSON.stringify(body),
    contentType: body === undefined ? undefined : (call.contentType ?? JSON_TYPE),
    idempotent: call.idempotent ?? true,
    priority,
    deadlineMs,
    signal,
  };
}
