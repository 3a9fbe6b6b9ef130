import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream';
import express from 'express';
import type { ErrorRequestHandler, Express, NextFunction, Request, Response } from 'express';
import type { Clock, Logger } from '@sandlot/std';
import type { ApiKey, KeyRing } from '@sandlot/tenancy';
import { ApiError, forbidden, notFound, toApiError } from '../errors/api-error.ts';
import { recordAudit } from '../audit/requests.ts';
import type { AuditDeps } from '../audit/requests.ts';
import type { HttpMetrics } from './metrics.ts';
import { jsonOf, parsed, queryOf } from './parse.ts';
import type { Answer, Route } from './route.ts';
import { inRequestSpan } from './trace.ts';
import type { ClientTraces } from './trace.ts';

export interface AppOptions extends AuditDeps {
  readonly routes: readonly Route[];
  readonly keys: KeyRing;
  readonly metrics: HttpMetrics;
  readonly log: Logger;
  readonly clock: Clock;
  readonly maxBodyBytes: number;
  readonly trustedProxies: readonly string[];
  readonly traces: ClientTraces;
}

/** How a socket of both families shows addresses of the older one. */
const IPV4_MAPPED = /^::ffff:(?=\d+\.)/i;
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const EXPOSED = [
  'x-next-token',
  'x-request-id',
  'x-e2b-trace-id',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
].join(', ');

/** What is known of a request while it is answered. */
interface Exchange {
  readonly request: Request;
  readonly response: Response;
  readonly requestId: string;
  readonly startMs: number;
}

/** The HTTP application: every answer, refusals included, in the form that the routes and the contract give it. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...options.trustedProxies]);
  app.use((request, response, next) => {
    begin(options, { request, response, next });
  });
  // Preflights come without a key, and for any path.
  app.options('/{*path}', (_request, response) => void response.status(204).end());
  const readBody = express.raw({ type: () => true, limit: options.maxBodyBytes });
  for (const route of options.routes) {
    const path = patternOf(route);
    const answer = (request: Request, response: Response): Promise<void> =>
      serve(options, route, exchangeOf(request, response));
    // A key is asked for before a body is read: strangers are to cost little.
    const guard = (request: Request, response: Response, next: NextFunction): void => {
      keyOf(options, route, request);
      if (isBounded(options, exchangeOf(request, response))) next();
    };
    app[route.method](path, guard, readBody, answer);
  }
  refuseOtherMethods(app, options.routes);
  app.use((request: Request) => {
    throw notFound(`there is no ${request.method} ${request.path}`);
  });
  app.use(errorHandler(options));
  return app;
}

/**
 * Refuses a body that is too large as soon as that is known, and ends its connection: whoever reads on until the end keeps a
 * place for a caller who may never come to one.
 */
function isBounded(options: AppOptions, exchange: Exchange): boolean {
  const { request, response } = exchange;
  const limit = options.maxBodyBytes;
  const refuseIt = (): void => {
    if (response.headersSent) return;
    response.set('Connection', 'close').once('finish', () => request.destroy());
    const message = `the body is larger than ${limit} bytes`;
    fail(options, exchange, new ApiError({ status: 413, message }));
  };
  if (Number(request.get('content-length') ?? 0) > limit) {
    refuseIt();
    return false;
  }
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > limit) refuseIt();
  });
  return true;
}

/** In the framework's form: `/sandboxes/:sandboxID`. */
function patternOf({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** A path that there is, asked for with another method: 405, and which ones it has. */
function refuseOtherMethods(app: Express, routes: readonly Route[]): void {
  const methods = new Map<string, Set<string>>();
  for (const route of routes) {
    const known = methods.get(patternOf(route)) ?? new Set(['OPTIONS']);
    methods.set(patternOf(route), known.add(route.method.toUpperCase()));
    if (route.method === 'get') known.add('HEAD');
  }
  for (const [path, known] of methods) {
    const Allow = [...known].sort().join(', ');
    app.all(path, (request: Request) => {
      const message = `${request.method} cannot be asked of this path; it has ${Allow}`;
      throw new ApiError({ status: 405, message, headers: { Allow } });
    });
  }
}

function errorHandler(options: AppOptions): ErrorRequestHandler {
  const handler = (...[error, request, response, next]: Parameters<ErrorRequestHandler>): void => {
    if (response.writableEnded) return;
    if (response.headersSent) next(error);
    else fail(options, exchangeOf(request, response), error);
  };
  // By their number of parameters the framework knows handlers of errors, and would answer those in HTML by itself.
  return Object.defineProperty(handler, 'length', { value: 4 });
}

interface Entrance {
  readonly request: Request;
  readonly response: Response;
  readonly next: NextFunction;
}

function begin({ clock }: AppOptions, { request, response, next }: Entrance): void {
  const given = request.get('x-request-id') ?? '';
  const requestId = REQUEST_ID.test(given) ? given : randomUUID();
  response.locals['requestId'] = requestId;
  response.locals['startMs'] = clock.monotonic();
  response.set({
    'X-Request-ID': requestId,
    'X-E2B-Trace-ID': requestId,
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'Access-Control-Allow-Headers': request.get('access-control-request-headers') ?? '*',
    'Access-Control-Expose-Headers': EXPOSED,
    'Access-Control-Max-Age': '600',
    Vary: 'Access-Control-Request-Headers',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  next();
}

function exchangeOf(request: Request, response: Response): Exchange {
  const { requestId, startMs } = response.locals as { requestId: string; startMs: number };
  return { request, response, requestId, startMs };
}

/** The caller's key, if the route asks for one. Throws an ApiError. */
function keyOf({ keys }: AppOptions, { access }: Route, request: Request): ApiKey | undefined {
  if (access === 'public') return undefined;
  const bearer = /^Bearer (.+)$/i.exec(request.get('authorization') ?? '')?.[1];
  const text = request.get('x-api-key') ?? bearer;
  const key = text === undefined ? undefined : keys.find(text);
  if (key === undefined) {
    const message =
      text === undefined ? 'an API key is required in the header X-API-KEY' : 'the API key is unknown or was revoked';
    throw new ApiError({ status: 401, message });
  }
  return key;
}

async function serve(options: AppOptions, route: Route, exchange: Exchange): Promise<void> {
  const { request, requestId } = exchange;
  const key = keyOf(options, route, request);
  const span = { traces: options.traces, route, requestId, keyId: key?.id };
  await inRequestSpan(request, span, () => answered(options, { route, key }, exchange));
}

interface Asked {
  readonly route: Route;
  readonly key: ApiKey | undefined;
}

/** Answers, and tells metrics and audit; resolves with the status. */
async function answered(options: AppOptions, { route, key }: Asked, exchange: Exchange): Promise<number> {
  const { request, response, requestId } = exchange;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const object = { namespace: key?.namespace ?? '', name: firstParam(request), uid: '' };
  const tell = (status: number, message?: string): void => {
    observe(options, route, { exchange, status });
    if (route.action === undefined || key === undefined) return;
    const source = { address: (request.ip ?? '').replace(IPV4_MAPPED, ''), userAgent: request.get('user-agent') };
    recordAudit(options, { action: route.action, key, object, source, requestId, status, message });
  };
  try {
    if (route.access === 'admin' && key?.role !== 'admin') throw forbidden('this needs an API key of the role admin');
    const call = {
      params: parsed(route.params, request.params, 'path'),
      query: parsed(route.query, queryOf(request.url), 'query'),
      body: route.body === undefined ? undefined : parsed(route.body, jsonOf(request.body), 'body'),
      header: (name: string) => request.get(name),
      requestId,
      signal: gone.signal,
      trail: { about: (named: Partial<typeof object>) => void Object.assign(object, named) },
    };
    const answer = await route.handle(call, key);
    send(response, answer);
    tell(answer.status);
    return answer.status;
  } catch (error) {
    const told = toApiError(error);
    tell(told.status, told.message);
    if (!response.headersSent) refuse(options, exchange, { told, error });
    return told.status;
  }
}

/** The object that a path names, for the audit of requests that get no further. */
function firstParam({ params }: Request): string {
  const [name] = Object.values(params);
  return typeof name === 'string' ? name : '';
}

function send(response: Response, { status, body, headers = {}, text, stream }: Answer): void {
  response.status(status).set(headers);
  if (stream !== undefined) {
    response.type(stream.type).flushHeaders();
    pipeline(stream.content, response, () => undefined);
  } else if (text !== undefined) response.type(text.type).send(text.content);
  else if (body === undefined) response.end();
  else response.json(body);
}

interface Refusal {
  readonly told: ApiError;
  readonly error: unknown;
}

function refuse({ log }: AppOptions, { response, requestId }: Exchange, { told, error }: Refusal): void {
  if (told.status >= 500 && told.status !== 501) log.error({ err: error, requestId }, 'a request failed');
  response.status(told.status).set(told.headers).json(told.body());
}

/** Of requests that never got to a handler. */
function fail(options: AppOptions, exchange: Exchange, error: unknown): void {
  const told = toApiError(error);
  options.metrics.answered({ route: 'none', method: exchange.request.method, code: String(told.status) }, 0);
  refuse(options, exchange, { told, error });
}

function observe(
  { metrics, clock }: AppOptions,
  { path, method }: Route,
  { exchange, status }: { readonly exchange: Exchange; readonly status: number },
): void {
  const seconds = (clock.monotonic() - exchange.startMs) / 1_000;
  metrics.answered({ route: path, method: method.toUpperCase(), code: String(status) }, seconds);
}
