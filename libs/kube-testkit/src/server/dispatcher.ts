import type { Clock } from '@sandlot/std';
import { ApiError, internalError } from './api-error.ts';
import type { Faults, FaultAnswer } from '../faults/faults.ts';
import type { Responder } from './front.ts';
import { handle } from './handlers.ts';
import type { Answer } from './handlers.ts';
import { isWrite } from './journal.ts';
import type { Journal, RequestRecord } from './journal.ts';
import type { Subresource } from '../rules/strategy.ts';
import type { Registry, Target } from '../storage/registry.ts';
import type { Definition } from '../storage/served-resource.ts';
import { parseRequest } from './request.ts';
import type { ApiRequest, RawRequest } from './request.ts';
import { Watch } from '../watch/watch.ts';
import { parseWatch } from '../watch/watch-request.ts';

const KNOWN: readonly Subresource[] = ['status', 'scale', 'resize'];

function isServed({ builtin, plural, status, scale }: Definition, subresource: Subresource): boolean {
  if (subresource === 'resize') return builtin && plural === 'pods';
  return subresource === 'status' ? status : scale !== undefined;
}

interface DispatcherOptions {
  readonly registry: Registry;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly watchList: boolean;
}

/** Connects HTTP and the handlers: finds the resource, applies faults and writes the journal. */
export class Dispatcher {
  readonly #registry: Registry;
  readonly #faults: Faults;
  readonly #journal: Journal;
  readonly #clock: Clock;
  readonly #watchList: boolean;

  constructor({ registry, faults, journal, clock, watchList }: DispatcherOptions) {
    this.#registry = registry;
    this.#faults = faults;
    this.#journal = journal;
    this.#clock = clock;
    this.#watchList = watchList;
  }

  answer(raw: RawRequest, respond: Responder): void {
    const request = parseRequest(raw);
    const target = request === undefined ? undefined : this.#findTarget(request);
    if (request === undefined || target === undefined) {
      answerOther(raw, respond);
      return;
    }
    const fault = this.#faults.answerBefore(request.info, isWrite(request.info));
    if (fault !== undefined) {
      this.#journal.add(buildRecord(request, 0));
      answerFault(fault, respond);
      return;
    }
    if (request.info.verb === 'watch') this.#watch(request, target, respond);
    else this.#carryOut(request, target, respond);
  }

  #findTarget({ info }: ApiRequest): Target | undefined {
    const { group, version, resource, namespace, name = '', subresource } = info;
    const definition = this.#registry.definitions.find(group, version, resource);
    if (definition === undefined) return undefined;
    const known = KNOWN.find((each) => each === subresource);
    if (known !== undefined && !isServed(definition, known)) return undefined;
    return { definition, version, namespace, name, subresource: known };
  }

  #carryOut(request: ApiRequest, target: Target, respond: Responder): void {
    const staleRevision = this.#faults.staleRevision(request.info);
    const before = this.#registry.storage.revision;
    const answer = getAnswer(() =>
      handle({ registry: this.#registry, clock: this.#clock, staleRevision }, request, target),
    );
    this.#journal.add(buildRecord(request, answer.code));
    const committed = this.#registry.storage.revision !== before;
    const fault = committed ? this.#faults.answerAfterCommit(request.info) : undefined;
    if (fault === undefined) respond.json(answer.code, answer.body, retryAfter(answer));
    else answerFault(fault, respond);
  }

  #watch(request: ApiRequest, target: Target, respond: Responder): void {
    let parsed;
    try {
      parsed = parseWatch(request, target.definition, this.#watchList);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#journal.add(buildRecord(request, error.code));
      respond.json(error.code, error.status());
      return;
    }
    this.#journal.add(buildRecord(request, 200));
    const deps = { storage: this.#registry.storage, faults: this.#faults, clock: this.#clock };
    const watch: Watch = new Watch(
      parsed,
      deps,
      respond.stream(() => watch.close()),
    );
    watch.start();
  }
}

/** Turns a refusal into its answer. Any other error is a bug of the fake server and becomes a 500. */
function getAnswer(work: () => Answer): Answer {
  try {
    return work();
  } catch (error) {
    if (error instanceof ApiError) return { code: error.code, body: error.status() };
    const message = `the fake API server failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    return { code: 500, body: internalError(message).status() };
  }
}

function retryAfter({ body }: Answer): Record<string, string> {
  const { details } = body as { details?: { retryAfterSeconds?: number } };
  return details?.retryAfterSeconds === undefined ? {} : { 'retry-after': String(details.retryAfterSeconds) };
}

const PATCH_TYPES: Readonly<Record<string, RequestRecord['patchType']>> = {
  'application/merge-patch+json': 'merge',
  'application/json-patch+json': 'json',
  'application/apply-patch+yaml': 'apply',
};

function buildRecord({ info, body, contentType }: ApiRequest, code: number): RequestRecord {
  const sent = parseOrUndefined(body);
  const named = info.name ?? nameIn(sent);
  const key = info.namespace === undefined || named === '' ? named : `${info.namespace}/${named}`;
  return { ...info, key, code, body: sent, patchType: info.verb === 'patch' ? PATCH_TYPES[contentType] : undefined };
}

function nameIn(object: unknown): string {
  const { metadata } = (object ?? {}) as { metadata?: { name?: string; generateName?: string } };
  return metadata?.name ?? metadata?.generateName ?? '';
}

function parseOrUndefined(body: string): unknown {
  try {
    return body === '' ? undefined : (JSON.parse(body) as unknown);
  } catch {
    return undefined;
  }
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function answerFault(fault: FaultAnswer, respond: Responder): void {
  if (fault === 'hang') return;
  if (fault === 'reset') {
    respond.reset();
    return;
  }
  const { status: code, retryAfterSeconds, message = 'fault injected by the test' } = fault;
  const reason = fault.reason ?? REASONS[code] ?? 'InternalError';
  const error = new ApiError({ code, reason, message, details: { retryAfterSeconds } });
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  respond.json(code, error.status(), headers);
}

const PLAIN: Readonly<Record<string, string>> = { '/healthz': 'ok', '/livez': 'ok', '/readyz': 'ok' };

/** Answers health checks, `/version`, and unknown paths with 404. */
function answerOther({ url }: RawRequest, respond: Responder): void {
  const [path = ''] = url.split('?', 1);
  if (path === '/version') {
    respond.json(200, { major: '1', minor: '36', gitVersion: 'v1.36.3' });
    return;
  }
  const text = PLAIN[path];
  if (text === undefined) respond.text(404, '404 page not found\n');
  else respond.text(200, text);
}
