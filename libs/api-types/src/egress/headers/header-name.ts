const MAX_LENGTH = 64;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u;

/** Headers that say how a message is transported, or who the client is: a rule that set them could smuggle a request. */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'via',
  'forwarded',
  'http2-settings',
]);
const RESERVED_PREFIXES = ['x-forwarded-', 'proxy-', 'sec-websocket-'];

/** Why a rule cannot set a header of this name, as the end of a sentence; undefined: it can. */
export function findHeaderNameProblem(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (!TOKEN.test(name)) return 'is not the name of a header';
  const folded = name.toLowerCase().replaceAll('_', '-');
  const isReserved = RESERVED.has(folded) || RESERVED_PREFIXES.some((prefix) => folded.startsWith(prefix));
  return isReserved ? 'is set by the proxy or the client, and by no rule' : undefined;
}
