import {
  findEgressBlock,
  findNamePattern,
  findReservedProblem,
  isClosedEgress,
  MAX_EGRESS_BLOCKS,
} from '@sandlot/api-types';
import type { EgressWish } from '@sandlot/api-types';
import type { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import { notPossible } from '../../errors/refusals.ts';
import { readHeaderRules } from './header-rules.ts';
import type { GivenRule } from './header-rules.ts';
import type { networkRequest, networkUpdate } from './schemas.ts';

type Network = z.output<typeof networkRequest>;
type Update = z.output<typeof networkUpdate>;

/** Fields that Sandlot does not enforce, and must therefore refuse (docs/reference/e2b-api.md#create). */
const UNENFORCED = ['dnsServers', 'egressProxy', 'maskRequestHost', 'httpsPorts'] as const;

/** What a request asks of the egress of its sandbox. */
export interface EgressRequest {
  /** What is denied and allowed; undefined: nothing but what the template says. */
  readonly egress: EgressWish | undefined;
  /** The headers of requests to some hosts. They deny nothing. */
  readonly headerRules: readonly GivenRule[];
}

/** Reads the egress of a request. Throws an ApiError 400 that names the field. */
export function readEgress(
  network: Network | Update | null | undefined,
  allowInternetAccess: boolean | null | undefined,
): EgressRequest {
  refuseUnenforced(network ?? {});
  return { egress: readWish(network, allowInternetAccess), headerRules: readHeaderRules(network?.rules) };
}

function readWish(
  network: Network | Update | null | undefined,
  allowInternetAccess: boolean | null | undefined,
): EgressWish | undefined {
  const wish = {
    allowInternetAccess: allowInternetAccess ?? undefined,
    ...readAllowed(network?.allowOut),
    denyOut: readBlocks('denyOut', network?.denyOut),
  };
  if (wish.names !== undefined && !isClosedEgress(wish)) throw badRequest(OPEN_NAMES);
  const isEmpty = wish.allowOut.length === 0 && wish.denyOut.length === 0;
  return isEmpty && wish.allowInternetAccess !== false ? undefined : wish;
}

/** E2B's rule: without it a list of names would look like one, and everything else would be open. */
const OPEN_NAMES = 'network.allowOut: names need network.denyOut to contain 0.0.0.0/0';

/** Names and blocks of one list. */
function readAllowed(texts: readonly string[] | null | undefined): Pick<EgressWish, 'allowOut' | 'names'> {
  const entries = readEntries('allowOut', texts, (text) => {
    const block = findEgressBlock(text);
    const name = block === undefined ? findNamePattern(text)?.text : undefined;
    if (block === undefined && name === undefined) throw badRequest(describeBadName(text));
    return { block, name };
  });
  const names = new Set(entries.flatMap(({ name }) => name ?? []));
  const allowOut = [...new Set(entries.flatMap(({ block }) => block ?? []))];
  return names.size === 0 ? { allowOut } : { allowOut, names: [...names] };
}

const A_NAME = 'neither an address, a CIDR nor a name such as example.com or *.example.com';
const AN_ADDRESS = 'neither an address nor a CIDR; names can only be allowed';

function describeBadName(text: string): string {
  const reserved = findReservedProblem(text);
  return formatBadEntry('allowOut', text, reserved === undefined ? A_NAME : `refused: ${reserved}`);
}

function formatBadEntry(field: string, text: string, what: string): string {
  return `network.${field}: ${JSON.stringify(text)} is ${what}`;
}

function refuseUnenforced(fields: Readonly<Record<string, unknown>>): void {
  const field = UNENFORCED.find((each) => hasContent(fields[each]));
  if (field !== undefined) throw notPossible(`network.${field} is not available in this installation`);
}

/** Absent, null, `{}` and `[]` ask for nothing. */
function hasContent(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function readBlocks(field: string, texts: readonly string[] | null | undefined): string[] {
  const blocks = readEntries(field, texts, (text) => {
    const block = findEgressBlock(text);
    if (block === undefined) throw badRequest(formatBadEntry(field, text, AN_ADDRESS));
    return block;
  });
  return [...new Set(blocks)];
}

function readEntries<T>(
  field: string,
  texts: readonly string[] | null | undefined,
  read: (text: string) => T,
): readonly T[] {
  const given = texts ?? [];
  if (given.length > MAX_EGRESS_BLOCKS) {
    throw badRequest(`network.${field}: expected at most ${MAX_EGRESS_BLOCKS} entries, got ${given.length}`);
  }
  return given.map(read);
}
