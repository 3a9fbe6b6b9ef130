import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen } from '@sandlot/telemetry';
import { isBuilderAuthorization } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import { logLevels } from '@sandlot/template-build';
import { z } from 'zod';
import type { LogStore } from '../log/log-store.ts';
import type { FilesPlace, ImagePlane } from '../plane/plane.ts';
import { PlaneError } from '../plane/plane.ts';
import { formatFilesRepository } from '../run/repositories.ts';

const LOG_PATH = /^\/logs\/([0-9a-f-]{36})$/u;
const FILES_PATH = /^\/files\/([a-z0-9-]{1,63})\/([0-9a-f]{64})$/u;
const MOST_ENTRIES = 100;
/** Clients give an upload up after an hour, and the API ends one that stands still. */
const LONGEST_MS = 3_660_000;

const querySchema = z.object({
  offset: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MOST_ENTRIES).default(MOST_ENTRIES),
  level: z.enum(logLevels).default('debug'),
});

export interface PortOptions {
  readonly port: number;
  readonly logs: Pick<LogStore, 'read'>;
  readonly plane: Pick<ImagePlane, 'hasFiles' | 'keepFiles'>;
  readonly tokenKeys: TokenKeys;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

/**
 * Serves the API alone: pages of logs at `GET /logs/<UID of the build>?offset&limit&level`, and the archives of COPY at `HEAD` and `PUT
 * /files/<namespace>/<hash>`. The API checks who asks for which. Rejects when the port cannot be bound.
 */
export function servePort(options: PortOptions): ReturnType<typeof listen> {
  return listen({ port: options.port, requestTimeoutMs: LONGEST_MS }, (request, response) => {
    answer(options, request, response).then(
      (answered) => send(response, answered),
      (error: unknown) => send(response, explain(error)),
    );
  });
}

async function answer(options: PortOptions, request: IncomingMessage, response: ServerResponse): Promise<Answer> {
  if (!isBuilderAuthorization(options.tokenKeys, request.headers.authorization))
    return refuse(401, 'denied', 'only the API may ask');
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://port');
  const [, build] = LOG_PATH.exec(pathname) ?? [];
  if (build !== undefined) return answerLog(options, request, { build, query: Object.fromEntries(searchParams) });
  const [, namespace, hash] = FILES_PATH.exec(pathname) ?? [];
  if (namespace === undefined || hash === undefined) return refuse(404, 'not_found', 'there is no such path');
  return answerFiles(options, request, {
    place: { repository: formatFilesRepository(namespace), filesHash: hash },
    signal: endWith(response),
  });
}

interface LogQuestion {
  readonly build: string;
  readonly query: Readonly<Record<string, string>>;
}

async function answerLog(
  { logs }: PortOptions,
  { method }: IncomingMessage,
  { build, query }: LogQuestion,
): Promise<Answer> {
  if (method !== 'GET') return refuse(405, 'bad_request', 'logs are read with GET');
  const { data } = querySchema.safeParse(query);
  if (data === undefined) return refuse(400, 'bad_request', 'offset, limit or level is wrong');
  return { status: 200, body: await logs.read(build, data) };
}

interface FilesQuestion {
  readonly place: FilesPlace;
  readonly signal: AbortSignal;
}

async function answerFiles(
  { plane }: PortOptions,
  request: IncomingMessage,
  { place, signal }: FilesQuestion,
): Promise<Answer> {
  switch (request.method) {
    case 'HEAD':
      return { status: (await plane.hasFiles(place, signal)) ? 200 : 404 };
    case 'PUT':
      await plane.keepFiles(place, request, signal);
      return { status: 204 };
    default:
      return refuse(405, 'bad_request', 'files are asked for with HEAD and kept with PUT');
  }
}

/** Ends what goes on for a client that is gone. */
function endWith(response: ServerResponse): AbortSignal {
  const over = new AbortController();
  response.once('close', () => over.abort());
  return over.signal;
}

const STATUSES: Readonly<Record<string, number>> = { bad_request: 400, bad_reference: 400, too_large: 413 };

function explain(error: unknown): Answer {
  if (!(error instanceof PlaneError)) return refuse(503, 'unreachable', 'this cannot be done at the moment');
  return refuse(STATUSES[error.reason] ?? 503, error.reason, error.message);
}

function refuse(status: number, reason: string, message: string): Answer {
  return { status, body: { reason, message } };
}

function send(response: ServerResponse, { status, body }: Answer): void {
  if (response.destroyed) return;
  if (body === undefined) response.writeHead(status).end();
  else
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(`${JSON.stringify(body)}\n`);
}
