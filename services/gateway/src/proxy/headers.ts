import { hasPreview, removePreviewCookies } from '../access/previews.ts';
import type { Peer } from './peer.ts';
import { listPairs } from './raw-headers.ts';

/** Headers of one connection (RFC 9110 7.6.1). The gateway decides framing and upgrades anew for the next hop. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'upgrade',
  'http2-settings',
]);

/** Headers a sandbox never sees: keys of the platform and the routing headers. */
const SANDBOX = ['x-api-key', 'e2b-sandbox-id', 'e2b-sandbox-port', 'e2b-traffic-access-token'];
const NEVER_TO_SANDBOX = new Set([...HOP_BY_HOP, ...SANDBOX]);
/** Agent-sandbox clients authenticate to the router with Authorization (docs/reference/runtime.md#agent-sandbox-api). */
const NEVER_FROM_ROUTER = new Set([...HOP_BY_HOP, ...SANDBOX, 'host', 'authorization']);

const DROPPED = { sandbox: NEVER_TO_SANDBOX, router: NEVER_FROM_ROUTER, control: HOP_BY_HOP } as const;

export interface RequestHeaders {
  /** Names and values in turn, as the client sent them. */
  readonly raw: readonly string[];
  readonly to: keyof typeof DROPPED;
  readonly peer: Peer;
  /** The value of Host for the next hop. */
  readonly host: string;
  /** The value of Connection, whose tokens name further headers of this connection. */
  readonly connection: string | undefined;
  /** The protocol that an upgrade asks for. */
  readonly upgrade: string | undefined;
  readonly te: string | undefined;
}

/** The headers of a request for the next hop: names and values in turn, spelled as the client spelled them. */
export function requestHeaders(given: RequestHeaders): string[] {
  const { raw, to, host } = given;
  const dropped = DROPPED[to];
  const named = buildTokens(given.connection);
  const kept = ['Host', host];
  const forwarded: Forwarded = { for: [], proto: undefined, host: undefined };
  const cookies: string[] = [];
  for (const [name, value] of listPairs(raw)) {
    const lower = name.toLowerCase();
    if (isDropped(lower, dropped) || named.has(lower) || isReserved(lower, to) || isDisguised(lower, to)) continue;
    if (lower === 'cookie') cookies.push(value);
    else if (!noteForwarded(lower, value, forwarded) && !isTelltale(lower, value)) kept.push(name, value);
  }
  // HTTP/2 may send several Cookie headers, HTTP/1.1 only one.
  const cookie = removePreviewCookies(cookies.join('; '));
  if (cookie !== undefined) kept.push('Cookie', cookie);
  return addForwarded(addNegotiated(kept, given), forwarded, given.peer);
}

/** Whether a header says to the sandbox what opens its preview. */
const isTelltale = (lower: string, value: string): boolean => lower === 'referer' && hasPreview(value);

/** Adds the headers that negotiate with the next hop. */
function addNegotiated(kept: string[], { te, upgrade }: RequestHeaders): string[] {
  if (te !== undefined && /trailers/i.test(te)) kept.push('TE', 'trailers');
  if (upgrade !== undefined) kept.push('Connection', 'Upgrade', 'Upgrade', upgrade);
  return kept;
}

/** Whether a header ends here: pseudo-headers of HTTP/2 such as `:path`, Host, and the headers of one connection. */
function isDropped(lower: string, dropped: ReadonlySet<string>): boolean {
  return lower === 'host' || lower.charCodeAt(0) === COLON || dropped.has(lower);
}

const COLON = 58;

const NO_TOKENS: ReadonlySet<string> = new Set();

function buildTokens(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return NO_TOKENS;
  const tokens = connection.split(',').map((token) => token.trim().toLowerCase());
  // A client must not remove the length of its body by naming it here.
  return new Set(tokens.filter((token) => token !== 'content-length' && token !== 'transfer-encoding'));
}

interface Forwarded {
  readonly for: string[];
  proto: string | undefined;
  host: string | undefined;
}

function noteForwarded(lower: string, value: string, forwarded: Forwarded): boolean {
  if (!isForwarding(lower)) return false;
  if (lower === 'x-forwarded-for') forwarded.for.push(value);
  else if (lower === 'x-forwarded-proto') forwarded.proto ??= value;
  else if (lower === 'x-forwarded-host') forwarded.host ??= value;
  return true;
}

/** Whether the name is reserved for the platform: a client must not send such a header to the next hop. */
function isReserved(lower: string, to: RequestHeaders['to']): boolean {
  return lower.startsWith('x-sandlot-') || (to !== 'control' && lower.startsWith('x-sandbox-'));
}

/**
 * Whether the name becomes one of the platform's where underscores are read as hyphens, as servers that follow CGI do: a client
 * could send `X_Forwarded_For` beside the header of the gateway.
 */
function isDisguised(lower: string, to: RequestHeaders['to']): boolean {
  if (!lower.includes('_')) return false;
  const read = lower.replaceAll('_', '-');
  return DROPPED[to].has(read) || isReserved(read, to) || FRAMING.has(read) || isForwarding(read);
}

const FRAMING = new Set(['host', 'content-length', 'transfer-encoding']);

const isForwarding = (lower: string): boolean =>
  lower === 'forwarded' || lower === 'x-real-ip' || lower.startsWith('x-forwarded-');

function addForwarded(kept: string[], forwarded: Forwarded, { address, proto, host, isTrusted }: Peer): string[] {
  const before = isTrusted ? forwarded.for : [];
  kept.push('X-Forwarded-For', [...before, address].join(', '));
  kept.push('X-Forwarded-Proto', (isTrusted ? forwarded.proto : undefined) ?? proto);
  kept.push('X-Forwarded-Host', (isTrusted ? forwarded.host : undefined) ?? host);
  return kept;
}

/** The headers of a response for the client, names and values in turn. */
export function listResponseHeaders(raw: readonly string[], connection: string | undefined): string[] {
  const named = buildTokens(connection);
  const kept: string[] = [];
  for (const [name, value] of listPairs(raw)) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && lower !== 'transfer-encoding' && !named.has(lower)) kept.push(name, value);
  }
  return kept;
}
