/** The port of the daemon that serves E2B's protocol. */
export const DAEMON_PORT = 49_983;

/** Routes of the daemon that only the platform may use (docs/reference/e2b-api.md#access-rules). */
const CONTROL = new Set(['init', 'freeze', 'unfreeze', 'collapse', 'fsfreeze', 'fsthaw', 'upgrade', 'sandlot']);

/** No honest path is encoded more often than this. */
const MOST_DECODINGS = 8;

const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is;

/** A request target as an origin server receives it. */
export interface RequestTarget {
  readonly path: string;
  /** The host that a target in absolute form names. */
  readonly authority: string | undefined;
}

/** Parses a request target without normalising it; undefined: it is invalid. */
export function parseTarget(url: string): RequestTarget | undefined {
  if (url.startsWith('/')) return { path: url, authority: undefined };
  if (url === '*') return { path: url, authority: undefined };
  const [, authority, rest = ''] = ABSOLUTE.exec(url) ?? [];
  if (authority === undefined || authority === '') return undefined;
  return { path: rest.startsWith('/') ? rest : `/${rest}`, authority };
}

/**
 * Whether a path may lead to a control route of the daemon, however it is written: percent-encoded, even repeatedly, with dot
 * segments, repeated slashes, backslashes, parameters or capitals. When in doubt the answer is yes.
 */
export function isControlPath(path: string): boolean {
  const first = findFirstSegment(decodeFully(withoutQuery(path)));
  return first !== undefined && CONTROL.has(first);
}

const withoutQuery = (path: string): string => path.split(/[?#]/, 1)[0] ?? '';

function decodeFully(path: string): string {
  let text = path;
  for (let round = 0; round < MOST_DECODINGS && text.includes('%'); round += 1) {
    const next = text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (next === text) break;
    text = next;
  }
  return text;
}

/** The first segment after resolving dot segments, in the form in which a router compares it. */
function findFirstSegment(path: string): string | undefined {
  const kept: string[] = [];
  for (const part of path.split(/[/\\]+/)) {
    // A lenient server drops these from a segment: parameters, an encoded query, blanks, control characters.
    const segment = (part.split(/[;?#]/, 1)[0] ?? '').replaceAll(/[^\x21-\x7e]/g, '').toLowerCase();
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  return kept[0];
}

/**
 * Whether a request only looks at a sandbox, which is no use of it: a probe of the daemon, of the code interpreter or of the
 * agent-sandbox runtime, or the daemon's metrics and records, which dashboards and followers of logs poll.
 */
export function isHealthCheck(method: string, port: number, path: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false;
  return HEALTH_PATHS.get(port)?.includes(withoutQuery(path)) === true;
}

const HEALTH_PATHS: ReadonlyMap<number, readonly string[]> = new Map([
  [DAEMON_PORT, ['/health', '/metrics', '/records']],
  [49_999, ['/health']],
  [8_888, ['/']],
]);
