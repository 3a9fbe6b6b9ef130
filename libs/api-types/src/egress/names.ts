import { domainToASCII } from 'node:url';
import { parseAddress } from '@sandlot/std';

/** A name of an allow list: `example.com`, `*.example.com` or `*`, each with a port or for every port. */
export interface NamePattern {
  /** As it is written, normalised. */
  readonly text: string;
  /** Exact, or the part behind `*.`. Empty for every name. */
  readonly name: string;
  readonly isWildcard: boolean;
  readonly port: number | undefined;
}

const MAX_NAME = 253;
const MAX_PORT = 65_535;
/** What a name never has, and a parser of URLs would take for an end of it. */
const FOREIGN = /[\s/\\?#@:%[\]]/u;
const LABEL = /^[a-z0-9_-]{1,63}$/u;

/**
 * The last labels of names that no list and no rule has: they lead to the machine itself, into its network or into the cluster,
 * or from an address to a name. The data plane has the same (egress/internal/names/reserved.go).
 */
const RESERVED: ReadonlySet<string> = new Set(['arpa', 'internal', 'local', 'localhost', 'svc']);

/**
 * A host name in lower case, as A-labels and without its final dot; undefined for anything else. A name has two labels or
 * more, of which the last does not begin with a digit: resolvers read such names as addresses.
 */
export function findHostName(text: string): string | undefined {
  if (FOREIGN.test(text) || parseAddress(text) !== undefined) return undefined;
  const ascii = domainToASCII(text.replace(/\.$/u, '')).toLowerCase();
  const names = ascii.split('.');
  const isName = names.length > 1 && ascii.length <= MAX_NAME && names.every((label) => LABEL.test(label));
  return isName && !/^\d/u.test(names.at(-1) ?? '') ? ascii : undefined;
}

/** Reads `NAME` or `NAME:PORT`; undefined for anything else, and for names that are never let through. */
export function findNamePattern(text: string): NamePattern | undefined {
  const [, host = '', digits] = /^([^:]*)(?::([1-9]\d{0,4}))?$/u.exec(text) ?? [];
  const port = digits === undefined ? undefined : Number(digits);
  const found = findPart(host);
  if (found === undefined || (port ?? 0) > MAX_PORT) return undefined;
  const { name, isWildcard } = found;
  return { text: formatPattern({ name, isWildcard, port }), name, isWildcard, port };
}

/** The text of a pattern. */
export function formatPattern({ name, isWildcard, port }: Omit<NamePattern, 'text'>): string {
  const written = [isWildcard ? '*' : [], name === '' ? [] : name].flat().join('.');
  return port === undefined ? written : `${written}:${port}`;
}

function findPart(host: string): Pick<NamePattern, 'name' | 'isWildcard'> | undefined {
  if (host === '*') return { name: '', isWildcard: true };
  const isWildcard = host.startsWith('*.');
  const name = findHostName(isWildcard ? host.slice(2) : host);
  return name === undefined || isReserved(name) ? undefined : { name, isWildcard };
}

function isReserved(name: string): boolean {
  return RESERVED.has(name.slice(name.lastIndexOf('.') + 1));
}

/** Why no list has the names of a text, for people; undefined if that is not because they are never let through. */
export function findReservedProblem(text: string): string | undefined {
  const [host = ''] = text.split(':');
  const last = domainToASCII(host.replace(/\.$/u, '')).split('.').at(-1) ?? '';
  return RESERVED.has(last) ? `names that end in ${last} are never let through` : undefined;
}

/** Whether the pattern has this normalised name on this port. `*` has no name that is never let through. */
export function hasName({ name, isWildcard, port }: NamePattern, host: string, onPort: number): boolean {
  if (port !== undefined && port !== onPort) return false;
  if (name === '') return !isReserved(host);
  return isWildcard ? host.endsWith(`.${name}`) : host === name;
}
