import { BlockList, isIP } from 'node:net';
import { BLOCKED_IPV4, BLOCKED_IPV6 } from '@sandlot/api-types';

/** Which addresses and ports webhooks may have. */
export interface TargetRules {
  /** CIDRs that are allowed although they are not public. */
  readonly privateAddresses: readonly string[];
  /** CIDRs that are refused besides those that are not public. */
  readonly blockedAddresses: readonly string[];
  readonly ports: readonly number[];
}

const NOT_PUBLIC = 'webhook url must be a public address';
const MAX_LENGTH = 2_048;
/** Names of the cluster and of the machine, which no other resolver has. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|svc|cluster\.local)$/u;

/** Decides on addresses: the worker asks for every address that it is about to connect to. */
export class TargetAddresses {
  readonly #allowed: Blocks;
  readonly #blocked: Blocks;

  constructor({ privateAddresses, blockedAddresses }: Omit<TargetRules, 'ports'>) {
    this.#allowed = buildBlocks(privateAddresses);
    this.#blocked = buildBlocks([...BLOCKED_IPV4, ...BLOCKED_IPV6, ...blockedAddresses]);
  }

  /** False for anything that is no address. */
  allows(address: string): boolean {
    const family = isIP(address);
    if (family === 0 || address.includes('%')) return false;
    const kind = family === 4 ? 'ipv4' : 'ipv6';
    return this.#allowed[kind].check(address, kind) || !this.#blocked[kind].check(address, kind);
  }
}

/** By family: a list judges IPv4 addresses by its IPv6 blocks too, as if they were embedded ones. */
type Blocks = Readonly<Record<'ipv4' | 'ipv6', BlockList>>;

function buildBlocks(cidrs: readonly string[]): Blocks {
  const blocks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const cidr of cidrs) {
    const [address = '', bits = ''] = cidr.split('/');
    const kind = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    blocks[kind].addSubnet(address, Number(bits), kind);
  }
  return blocks;
}

/**
 * Why a text is no URL of a webhook; undefined: it is one, as far as that can be said without resolving its host. Whether the
 * addresses of a name are public is decided for every connection.
 */
export function findTargetProblem(text: string, rules: TargetRules): string | undefined {
  if (text.length > MAX_LENGTH) return `webhook url has at most ${MAX_LENGTH} characters`;
  const url = URL.parse(text);
  if (url === null) return 'webhook url is no URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'webhook url begins with https:// or http://';
  if (url.username !== '' || url.password !== '') return 'webhook url must not contain a user or a password';
  if (!rules.ports.includes(getPort(url))) return `webhook url must have one of the ports ${rules.ports.join(', ')}`;
  return isPossibleHost(getHost(url), rules) ? undefined : NOT_PUBLIC;
}

function isPossibleHost(host: string, rules: TargetRules): boolean {
  if (isIP(host) !== 0) return new TargetAddresses(rules).allows(host);
  const name = host.replace(/\.$/u, '');
  return name.includes('.') && !LOCAL_NAME.test(name);
}

/** Without the brackets of IPv6. */
export function getHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/gu, '');
}

export function getPort({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
