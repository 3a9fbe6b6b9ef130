/** Between two machines alone (RFC 9110 7.6.1); framing and upgrades are decided anew for the next hop. */
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

/** What a sandbox never sees: keys of the platform and the names by which it was found. */
const SANDBOX = ['x-api-key', 'e2b-sandbox-id', 'e2b-sandbox-port', 'e2b-traffic-access-token'];
const NEVER_TO_SANDBOX = new Set([...HOP_BY_HOP, ...SANDBOX]);
/** Agent-sandbox clients send their own credentials to the router (E2B wire contract 6.3). */
const NEVER_FROM_ROUTER = new Set([...HOP_BY_HOP, ...SANDBOX, 'host', 'authorization']);

const DROPPED = { sandbox: NEVER_TO_SANDBOX, router: NEVER_FROM_ROUTER, control: HOP_BY_HOP } as const;

/** By whom a request came. */
export interface Origin {
  readonly address: string;
  readonly proto: 'http' | 'https';
  readonly host: string;
  /** A proxy of ours sent it: what it says of where the request comes from is true. */
  readonly isTrusted: boolean;
}

export interface RequestHeaders {
  /** Names and values in turn, as they came. */
  readonly raw: readonly string[];
  readonly to: keyof typeof DROPPED;
  readonly origin: Origin;
  /** The value of Host for the next hop. */
  readonly host: string;
  /** Value of Connection, whose tokens name more headers of this hop. */
  readonly connection: string | undefined;
  /** Of an upgrade: the protocol that is asked for. */
  readonly upgrade: string | undefined;
  readonly te: string | undefined;
}

/** The headers of a request for the next hop, names and values in turn and as they were spelled. */
export function requestHeaders(given: RequestHeaders): string[] {
  const { raw, to, host } = given;
  const dropped = DROPPED[to];
  const named = tokensOf(given.connection);
  const kept = ['Host', host];
  const forwarded: Forwarded = { for: [], proto: undefined, host: undefined };
  const cookies: string[] = [];
  for (const [name, value] of pairsOf(raw)) {
    const lower = name.toLowerCase();
    if (isOfThisHop(lower, dropped) || named.has(lower) || isPrefixed(lower, to)) continue;
    if (lower === 'cookie') cookies.push(value);
    else if (!noteForwarded(lower, value, forwarded)) kept.push(name, value);
  }
  // HTTP/2 may split cookies, HTTP/1.1 may not.
  if (cookies.length > 0) kept.push('Cookie', cookies.join('; '));
  return addForwarded(addNegotiated(kept, given), forwarded, given.origin);
}

/** What is negotiated with the next hop. */
function addNegotiated(kept: string[], { te, upgrade }: RequestHeaders): string[] {
  if (te !== undefined && /trailers/i.test(te)) kept.push('TE', 'trailers');
  if (upgrade !== undefined) kept.push('Connection', 'Upgrade', 'Upgrade', upgrade);
  return kept;
}

/** `:path` and the like are of HTTP/2; Host is set anew. */
function isOfThisHop(lower: string, dropped: ReadonlySet<string>): boolean {
  return lower === 'host' || lower.charCodeAt(0) === COLON || dropped.has(lower);
}

const COLON = 58;

const NO_TOKENS: ReadonlySet<string> = new Set();

function tokensOf(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return NO_TOKENS;
  const tokens = connection.split(',').map((token) => token.trim().toLowerCase());
  // The body's length is not for a client to take away from it.
  return new Set(tokens.filter((token) => token !== 'content-length' && token !== 'transfer-encoding'));
}

interface Forwarded {
  readonly for: string[];
  proto: string | undefined;
  host: string | undefined;
}

function noteForwarded(lower: string, value: string, forwarded: Forwarded): boolean {
  if (lower === 'forwarded' || lower === 'x-real-ip') return true;
  if (!lower.startsWith('x-forwarded-')) return false;
  if (lower === 'x-forwarded-for') forwarded.for.push(value);
  else if (lower === 'x-forwarded-proto') forwarded.proto ??= value;
  else if (lower === 'x-forwarded-host') forwarded.host ??= value;
  return true;
}

/** Names that are ours alone: nobody outside speaks in the platform's name. */
function isPrefixed(lower: string, to: RequestHeaders['to']): boolean {
  return lower.startsWith('x-sandlot-') || (to !== 'control' && lower.startsWith('x-sandbox-'));
}

function addForwarded(kept: string[], forwarded: Forwarded, { address, proto, host, isTrusted }: Origin): string[] {
  const before = isTrusted ? forwarded.for : [];
  kept.push('X-Forwarded-For', [...before, address].join(', '));
  kept.push('X-Forwarded-Proto', (isTrusted ? forwarded.proto : undefined) ?? proto);
  kept.push('X-Forwarded-Host', (isTrusted ? forwarded.host : undefined) ?? host);
  return kept;
}

/** The headers of an answer for the client, names and values in turn. */
export function responseHeaders(raw: readonly string[], connection: string | undefined): string[] {
  const named = tokensOf(connection);
  const kept: string[] = [];
  for (const [name, value] of pairsOf(raw)) {
    const lower = name.toLowerCase();
    if (!HOP_BY_HOP.has(lower) && lower !== 'transfer-encoding' && !named.has(lower)) kept.push(name, value);
  }
  return kept;
}

/** The same as HTTP/2 wants them: names in lower case, values of one name together. */
export function asHttp2(flat: readonly string[]): Record<string, string | string[]> {
  const together: Record<string, string | string[]> = {};
  for (let at = 0; at < flat.length; at += 2) {
    const name = (flat[at] ?? '').toLowerCase();
    const value = flat[at + 1] ?? '';
    const before = Object.hasOwn(together, name) ? together[name] : undefined;
    together[name] = before === undefined ? value : [before, value].flat();
  }
  return together;
}

/** Names and values in turn as pairs. */
export function pairsOf(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at < flat.length; at += 2) pairs.push([flat[at] ?? '', flat[at + 1] ?? '']);
  return pairs;
}
