import express from 'express';
import type { ErrorRequestHandler, Express, NextFunction, Request, RequestHandler, Response } from 'express';
import { ApiError, notFound } from '../errors/api-error.ts';
import { endArrivalLimit, limitArrival } from './arrival.ts';
import { authenticate } from './authenticate.ts';
import { isBodyAllowed } from './body-limit.ts';
import { buildExchange, startExchange } from './exchange.ts';
import type { Route } from './route.ts';
import { serve } from './serve.ts';
import type { ServeOptions } from './serve.ts';
import { sendUnroutedError } from './respond.ts';

export interface AppOptions extends ServeOptions {
  readonly routes: readonly Route[];
  readonly maxBodyBytes: number;
  readonly trustedProxies: readonly string[];
}

/** The HTTP application over these routes. Every answer, errors included, has the form of the routes. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...options.trustedProxies]);
  app.use((request, response, next) => {
    startExchange(options.clock, request, response);
    limitArrival(options.clock, buildExchange(request, response));
    next();
  });
  // CORS preflights come without a key, and for any path.
  app.options('/{*path}', (_request, response) => void response.status(204).end());
  for (const route of options.routes) {
    const maxBodyBytes = Math.max(route.bodyLimit ?? 0, options.maxBodyBytes);
    const readBody = express.raw({ type: () => true, limit: maxBodyBytes });
    // The key is checked before the body is read, so that a client without one costs little.
    const guard = (request: Request, response: Response, next: NextFunction): void => {
      authenticate(options.keys, route, request);
      if (isBodyAllowed({ ...options, maxBodyBytes }, buildExchange(request, response))) next();
    };
    const answer = (request: Request, response: Response): Promise<void> =>
      serve(options, route, buildExchange(request, response));
    const path = formatExpressPath(route);
    if (route.streams === true) app[route.method](path, takeBody, answer);
    else app[route.method](path, guard, readBody, answer);
  }
  refuseOtherMethods(app, options.routes);
  app.use((request: Request) => {
    throw notFound(`there is no ${request.method} ${request.path}`);
  });
  app.use(errorHandler(options));
  return app;
}

/** Leaves the body, and how long it may take, to the handler. */
function takeBody(...[, response, next]: Parameters<RequestHandler>): void {
  endArrivalLimit(response);
  next();
}

/** The path in Express's form: `/sandboxes/:sandboxID`. */
function formatExpressPath({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Answers 405 with `Allow` for a known path with a method that it does not have. */
function refuseOtherMethods(app: Express, routes: readonly Route[]): void {
  const methods = new Map<string, Set<string>>();
  for (const route of routes) {
    const known = methods.get(formatExpressPath(route)) ?? new Set(['OPTIONS']);
    methods.set(formatExpressPath(route), known.add(route.method.toUpperCase()));
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
    else sendUnroutedError(options, buildExchange(request, response), error);
  };
  // Express recognises an error handler by its four parameters. Without one it would answer errors in HTML.
  return Object.defineProperty(handler, 'length', { value: 4 });
}
