/** Port of the daemon that speaks E2B's protocol. */
export const DAEMON_PORT = 49_983;

/** Control routes of the daemon: for the platform alone (E2B wire contract 3.3), `/sandlot/...` being ours. */
const CONTROL = new Set(['init', 'freeze', 'unfreeze', 'collapse', 'fsfreeze', 'fsthaw', 'upgrade', 'sandlot']);

/** Decoding more often than this is nobody's honest path. */
const MOST_DECODINGS = 8;

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is;

/** A request target as an origin server takes it; undefined for one that is none. */
export interface Target {
  readonly path: string;
  /** Of a target in absolute form, which names the host itself. */
  readonly authority: string | undefined;
}

/** Reads a request target without normalising it. */
export function targetOf(url: string): Target | undefined {
  if (url.startsWith('/')) return { path: url, authority: undefined };
  if (url === '*') return { path: url, authority: undefined };
  const [, authority, rest = ''] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined || authority === '') return undefined;
  return { path: rest.startsWith('/') ? rest : `/${rest}`, authority };
}

/**
 * Whether a path leads to a control route however it is written: percent-encoded, also repeatedly, with dot segments,
 * repeated or wrong slashes, parameters, or in other letters. Rather one path too many than one too few.
 */
export function isControlPath(path: string): boolean {
  const first = firstSegment(fullyDecoded(withoutQuery(path)));
  return first !== undefined && CONTROL.has(first);
}

const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] ?? '';

function fullyDecoded(path: string): string {
  let text = path;
  for (let round = 0; round < MOST_DECODINGS && text.includes('%'); round += 1) {
    const next = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (next === text) break;
    text = next;
  }
  return text;
}

/** The first segment that is left when dot segments are resolved, of letters as a router compares them. */
function firstSegment(path: string): string | undefined {
  const kept: string[] = [];
  for (const part of path.split(/[/\\]+/)) {
    // Whatever a lenient server cuts off a segment: parameters, a query that was encoded, blanks, control characters.
    const segment = (part.split(/[;?#]/, 1)[0] ?? '').replaceAll(/[^\x21-\x7e]/g, '').toLowerCase();
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  return kept[0];
}

/**
 * A look at a sandbox, which says nothing about use: a probe of envd, of the code interpreter, of the agent-sandbox runtime,
 * or what envd measures, which dashboards ask for all the time.
 */
export function isHealthCheck(method: string, port: number, path: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return HEALTH_PATHS.get(port)?.includes(withoutQuery(path)) === true;
}

const HEALTH_PATHS: ReadonlyMap<number, readonly string[]> = new Map([
  [DAEMON_PORT, ['/health', '/metrics']],
  [49_999, ['/health']],
  [8_888, ['/']],
]);
