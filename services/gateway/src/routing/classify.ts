import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a request that name its destination. */
export interface RequestHead {
  /** Host, or `:authority` of HTTP/2. */
  readonly host: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Where a request goes (docs/reference/e2b-api.md#client-configuration, docs/reference/runtime.md#agent-sandbox-api). */
export type Route =
  | { readonly kind: 'sandbox'; readonly via: 'host' | 'headers'; readonly id: string; readonly port: number }
  | ({ readonly kind: 'router' } & RouterTarget)
  | { readonly kind: 'control' }
  | { readonly kind: 'malformed'; readonly dialect: Dialect; readonly message: string };

/** Which format of errors the client understands. */
export type Dialect = 'e2b' | 'router';

/** The destination that the agent-sandbox headers name. */
export interface RouterTarget {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Limit until the head of the response. */
  readonly timeoutMs: number;
  readonly uid: string | undefined;
}

export interface ClassifyOptions {
  readonly domains: ReadonlySet<string>;
  readonly maxTimeoutMs: number;
}

/** A name or address and a port. Other servers might read anything else as another host. */
const HOST = /^\s*([\w.-]*|\[[\da-f:.]+\])(:\d{0,5})?\s*$/i;
const SANDBOX_LABEL = /^([0-9]{1,5})-([a-z0-9]+)$/;
const NEARLY_SANDBOX_LABEL = /^[0-9]*-/;
const SANDBOX_ID = /^[a-z0-9]+$/;
/** `<port>-<id>` must fit a DNS label. */
const LONGEST_ID = 57;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const PORT = /^[0-9]{1,5}$/;
const LAST_PORT = 65_535;
const SECONDS = /^[0-9]{1,9}(\.[0-9]{1,9})?$/;
const DEFAULT_EXEC_PORT = 8888;
const DEFAULT_TIMEOUT_MS = 180_000;

/** Finds out where a request goes. The first match wins: the host, then the E2B headers, then the agent-sandbox headers. */
export function classify(head: RequestHead, options: ClassifyOptions): Route {
  return (
    parseHost(head.host, options.domains) ?? parseHeaders(head.headers) ?? parseRouterHeaders(head.headers, options)
  );
}

/** The same for a listener that serves agent-sandbox clients only. */
export function classifyRouter(head: RequestHead, options: ClassifyOptions): Route {
  const route = parseRouterHeaders(head.headers, options);
  return route.kind === 'control' ? malformed('router', 'X-Sandbox-ID is missing: it names the sandbox') : route;
}

function parseHost(host: string | undefined, domains: ReadonlySet<string>): Route | undefined {
  if (host !== undefined && !HOST.test(host)) return malformed('e2b', 'The Host header is no host and port');
  const name = parseHostName(host);
  const dot = name.indexOf('.');
  if (dot < 0 || !domains.has(name.slice(dot + 1))) return undefined;
  const label = name.slice(0, dot);
  const [, port, id] = SANDBOX_LABEL.exec(label) ?? [];
  if (port !== undefined && id !== undefined) return parseSandboxRoute('host', port, id);
  return NEARLY_SANDBOX_LABEL.test(label)
    ? malformed('e2b', 'The host must be <port>-<sandbox id>.<domain>, the id of letters and digits')
    : undefined;
}

/** The host name without its port, in the form in which DNS names are compared. */
export function parseHostName(host: string | undefined): string {
  const plain = (host ?? '').trim().toLowerCase();
  const colon = plain.lastIndexOf(':');
  const name = colon > plain.lastIndexOf(']') ? plain.slice(0, colon) : plain;
  return name.endsWith('.') ? name.slice(0, -1) : name;
}

function parseHeaders(headers: IncomingHttpHeaders): Route | undefined {
  const id = headers['e2b-sandbox-id'];
  const port = headers['e2b-sandbox-port'];
  if (id === undefined && port === undefined) return undefined;
  if (typeof id !== 'string' || typeof port !== 'string') {
    return malformed('e2b', 'E2b-Sandbox-Id and E2b-Sandbox-Port are needed both, each once');
  }
  return parseSandboxRoute('headers', port, id);
}

function parseSandboxRoute(via: 'host' | 'headers', portText: string, id: string): Route {
  const port = findPort(portText);
  if (port === undefined) return malformed('e2b', 'The port must be a number from 0 to 65535');
  if (!SANDBOX_ID.test(id) || id.length > LONGEST_ID) {
    return malformed('e2b', 'The sandbox id must be of lower-case letters and digits, 57 at most');
  }
  return { kind: 'sandbox', via, id, port };
}

function parseRouterHeaders(headers: IncomingHttpHeaders, { maxTimeoutMs }: ClassifyOptions): Route {
  const name = headers['x-sandbox-id'];
  if (name === undefined) return { kind: 'control' };
  const namespace = headers['x-sandbox-namespace'] ?? 'default';
  if (!isLabel(name)) return malformed('router', 'X-Sandbox-ID must be the name of a Sandbox, a DNS label');
  if (!isLabel(namespace)) return malformed('router', 'X-Sandbox-Namespace must be a namespace, a DNS label');
  const port = findPort(headers['x-sandbox-port'] ?? String(DEFAULT_EXEC_PORT));
  if (port === undefined || port === 0) return malformed('router', 'X-Sandbox-Port must be a number from 1 to 65535');
  const timeoutMs = findTimeout(headers['x-sandbox-timeout']);
  if (timeoutMs === undefined) return malformed('router', 'X-Sandbox-Timeout must be a number of seconds above 0');
  return {
    kind: 'router',
    namespace,
    name,
    port,
    timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
    uid: findSingle(headers['x-sandbox-uid']),
  };
}

const isLabel = (value: string | string[]): value is string => typeof value === 'string' && DNS_LABEL.test(value);

const findSingle = (value: string | string[] | undefined): string | undefined => {
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text === '' ? undefined : text;
};

function findPort(text: string | string[]): number | undefined {
  if (typeof text !== 'string' || !PORT.test(text)) return undefined;
  const port = Number(text);
  return port <= LAST_PORT ? port : undefined;
}

/** The timeout in milliseconds; undefined: the text is not a positive number of seconds. */
function findTimeout(text: string | string[] | undefined): number | undefined {
  if (text === undefined) return DEFAULT_TIMEOUT_MS;
  if (typeof text !== 'string' || !SECONDS.test(text)) return undefined;
  const ms = Math.ceil(Number(text) * 1_000);
  return ms > 0 ? ms : undefined;
}

const malformed = (dialect: Dialect, message: string): Route => ({ kind: 'malformed', dialect, message });
