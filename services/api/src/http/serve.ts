import type { Request } from 'express';
import type { Clock } from '@sandlot/std';
import type { ApiKey, KeyRing } from '@sandlot/tenancy';
import { recordAudit } from '../audit/requests.ts';
import type { AuditDeps } from '../audit/requests.ts';
import { ApiError, badRequest, forbidden } from '../errors/api-error.ts';
import { toApiError } from '../errors/to-api-error.ts';
import { endUnread } from './arrival.ts';
import { authenticate } from './authenticate.ts';
import type { Exchange } from './exchange.ts';
import { parseHeaders, parseInput, parseJson, parseQuery } from './parse.ts';
import { sendAnswer, sendError } from './respond.ts';
import type { ErrorReport } from './respond.ts';
import type { Call, Route } from './route.ts';
import { runInRequestSpan } from './trace.ts';
import type { ClientTraces } from './trace.ts';

export interface ServeOptions extends AuditDeps, ErrorReport {
  readonly keys: Pick<KeyRing, 'find'>;
  readonly clock: Clock;
  readonly traces: ClientTraces;
}

/** How a dual-stack socket shows IPv4 addresses. */
const IPV4_MAPPED = /^::ffff:(?=\d+\.)/i;

interface Operation {
  readonly route: Route;
  readonly key: ApiKey | undefined;
}

/** Answers a request inside a span, with metrics and audit. */
export async function serve(options: ServeOptions, route: Route, exchange: Exchange): Promise<void> {
  const { request, requestId } = exchange;
  const key = authenticate(options.keys, route, request);
  const span = { traces: options.traces, route, requestId, keyId: key?.id };
  await runInRequestSpan(request, span, () => runHandler(options, { route, key }, exchange));
}

/** Parses the request, runs the handler and sends its answer or its error. Resolves with the status. */
async function runHandler(options: ServeOptions, { route, key }: Operation, exchange: Exchange): Promise<number> {
  const { request, response } = exchange;
  const gone = new AbortController();
  if (route.streams === true) response.once('finish', () => endUnread(options.clock, request));
  response.once('close', () => gone.abort());
  const object = { namespace: key?.namespace ?? '', name: getFirstParam(request), uid: '' };
  const report = (status: number, message?: string): void => {
    observe(options, route, { exchange, status });
    if (route.action === undefined || key === undefined) return;
    const source = { address: (request.ip ?? '').replace(IPV4_MAPPED, ''), userAgent: request.get('user-agent') };
    const { requestId } = exchange;
    recordAudit(options, { action: route.action, key, object, source, requestId, status, message });
  };
  try {
    if (route.access === 'admin' && key?.role !== 'admin') throw forbidden('this needs an API key of the role admin');
    const trail = { about: (named: Partial<typeof object>) => void Object.assign(object, named) };
    const answer = await route.handle(readCall(route, exchange, { signal: gone.signal, trail }), key);
    sendAnswer(response, answer);
    report(answer.status);
    return answer.status;
  } catch (cause) {
    const error = toApiError(cause);
    report(error.status, error.message);
    if (!response.headersSent) sendError(options, exchange, { error, cause });
    return error.status;
  }
}

type CallContext = Pick<Call, 'signal' | 'trail'>;

/** The request as its operation's schemas read it. Throws an ApiError 400. */
function readCall(route: Route, exchange: Exchange, context: CallContext): Call {
  try {
    return parseCall(route, exchange, context);
  } catch (error) {
    if (route.invalid === undefined || !(error instanceof ApiError)) throw error;
    throw badRequest(`${route.invalid}: ${error.message}`);
  }
}

function parseCall(route: Route, { request, requestId }: Exchange, context: CallContext): Call {
  return {
    params: parseInput(route.params, request.params, 'path'),
    query: parseInput(route.query, parseQuery(request.url), 'query'),
    body: route.body === undefined ? undefined : parseInput(route.body, parseJson(request.body), 'body'),
    readHeaders: () => parseHeaders(route.headers, (name) => request.get(name)),
    requestId,
    origin: `${request.protocol}://${request.get('host') ?? ''}`,
    content: { stream: request, length: readLength(request) },
    ...context,
  };
}

function readLength(request: Request): number | undefined {
  const text = request.get('content-length');
  return text === undefined ? undefined : Number(text);
}

/** The first path parameter: the object in the audit record of a request that fails before its handler names one. */
function getFirstParam({ params }: Request): string {
  const [name] = Object.values(params);
  return typeof name === 'string' ? name : '';
}

function observe(
  { metrics, clock }: ServeOptions,
  { path, method }: Route,
  { exchange, status }: { readonly exchange: Exchange; readonly status: number },
): void {
  const seconds = (clock.monotonic() - exchange.startMs) / 1_000;
  metrics.observeRequest({ route: path, method: method.toUpperCase(), code: String(status) }, seconds);
}
