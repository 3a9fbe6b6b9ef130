import type { GoneReason } from '../directory/decide-ending.ts';
import type { Dialect } from '../routing/classify.ts';
import type { Refusal } from './refusal.ts';

/** An answer of the gateway itself. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Who reads an answer. */
export interface Audience {
  readonly dialect: Dialect;
  /** A person reads it in a browser. */
  readonly html: boolean;
}

interface Content {
  readonly status: number;
  readonly message: string;
  readonly more?: Readonly<Record<string, string | number>>;
  /** Seconds after which the same request may succeed; set only when it had no effect. */
  readonly retryAfter?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

const GONE: Readonly<Record<GoneReason, string>> = {
  unknown: 'it does not exist, or is not yours',
  killed: 'it was killed',
  expired: 'its time is over',
  failed: 'its processes have ended',
  paused: 'it is paused and does not resume by itself; connect to it first',
};

const PREVIEWS = {
  expired: 'The preview has expired: ask for a new one',
  revoked: 'The preview was revoked: ask for a new one',
  foreign: 'The preview is not one of this sandbox and port: ask for a new one',
} as const;

/** The answer to a request that is refused. */
export function buildAnswer(refusal: Refusal, { dialect, html }: Audience): Answer {
  const content = getContent(refusal);
  const status = dialect === 'router' ? getRouterStatus(refusal, content) : content.status;
  const { message, more = {}, retryAfter, headers } = content;
  const body =
    dialect === 'router'
      ? JSON.stringify({ detail: message })
      : html
        ? formatPage(status, message)
        : JSON.stringify({ ...more, message, code: status });
  return {
    status,
    headers: {
      'Content-Type': html && dialect === 'e2b' ? 'text/html; charset=utf-8' : 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'Access-Control-Allow-Origin': '*',
      ...(retryAfter === undefined ? { 'Should-Retry': 'false' } : { 'Retry-After': String(retryAfter) }),
      ...(refusal.kind === 'unauthorised' && status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
      ...headers,
    },
    body,
  };
}

function getContent(refusal: Refusal): Content {
  // Each kind has its own writer below; the mapped type keeps the two together.
  const write = CONTENTS[refusal.kind] as (given: Refusal) => Content;
  return write(refusal);
}

const CONTENTS: { readonly [K in Refusal['kind']]: (refusal: Extract<Refusal, { kind: K }>) => Content } = {
  gone: ({ id, reason }) => ({
    status: 502,
    message: `The sandbox was not found: ${GONE[reason]}`,
    more: { sandboxId: id, reason },
  }),
  'port-closed': ({ id, port }) => ({
    status: 502,
    message: `The sandbox is running but port is not open: nothing listens on port ${port}`,
    more: { sandboxId: id, port },
  }),
  'no-answer': ({ id, port, detail }) => ({
    status: 502,
    message: `The sandbox is running but gave no answer on port ${port}: ${detail}`,
    more: { sandboxId: id, port },
  }),
  late: ({ id, seconds }) => ({
    status: 409,
    message: `The sandbox is not ready after ${seconds} s; try again`,
    more: { sandboxId: id },
  }),
  delayed: ({ id, seconds }) => ({
    status: 503,
    message: `The sandbox is not ready after ${seconds} s: for a time the gateway had no connection to NATS, by which it asks for the wake; try again`,
    more: { sandboxId: id },
    retryAfter: 1,
  }),
  'traffic-token': ({ id }) => ({
    status: 403,
    message: 'The sandbox is not public: send its traffic access token as e2b-traffic-access-token',
    more: { sandboxId: id },
  }),
  preview: ({ id, why }) => ({ status: 403, message: PREVIEWS[why], more: { sandboxId: id, reason: why } }),
  'preview-opened': ({ location, cookie }) => ({
    status: 302,
    message: 'The preview is open',
    headers: { Location: location, 'Set-Cookie': cookie, 'Referrer-Policy': 'no-referrer' },
  }),
  'too-many': tooMany,
  limited: ({ limit, message }) => ({ status: 429, message, more: { limit }, retryAfter: 1 }),
  blocked: ({ path }) => ({ status: 404, message: 'This route is not reachable from outside', more: { path } }),
  timeout: ({ seconds }) => ({ status: 504, message: `The sandbox did not answer within ${seconds} s` }),
  stopping: ({ id }) => ({
    status: 503,
    message: 'The gateway stopped before the sandbox answered; the request may have had an effect',
    more: { sandboxId: id },
  }),
  unauthorised: ({ status, message }) => ({ status, message }),
  malformed: ({ message }) => ({ status: 400, message }),
  unsure: ({ message }) => ({ status: 503, message, retryAfter: 1 }),
};

function tooMany({ id, limit, whose }: Extract<Refusal, { kind: 'too-many' }>): Content {
  return {
    status: 429,
    message: `Too many connections: ${whose} may have ${limit} at a time`,
    more: { ...(id === undefined ? {} : { sandboxId: id }), connectionLimit: limit },
  };
}

/** Agent-sandbox clients expect 504 for a sandbox that takes too long (docs/reference/runtime.md#agent-sandbox-api). */
function getRouterStatus({ kind }: Refusal, { status }: Content): number {
  return kind === 'late' ? 504 : status;
}

function formatPage(status: number, message: string): string {
  const text = message.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${status}</title><h1>${status}</h1><p>${text}</p></html>\n`;
}

/** Whether the client is a browser that shows the answer as a page, and not a program that runs in one. */
export function isHtmlPreferred(userAgent: string | undefined, accept: string | undefined): boolean {
  if (userAgent === undefined || accept === undefined || !userAgent.startsWith('Mozilla/')) return false;
  const html = accept.indexOf('text/html');
  const json = accept.indexOf('application/json');
  return html >= 0 && (json < 0 || html < json);
}
