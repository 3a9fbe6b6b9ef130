import { annotations, egressBlock, egressText, MAX_EGRESS_BLOCKS } from '@sandlot/api-types';
import type { EgressWish } from '@sandlot/api-types';
import type { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import type { networkRequest, networkUpdate } from './schemas.ts';

type Network = z.output<typeof networkRequest>;
type Update = z.output<typeof networkUpdate>;

/** Fields that nobody here enforces; what they ask for must not be accepted and ignored (E2B contract, create). */
const UNENFORCED = ['dnsServers', 'egressProxy', 'maskRequestHost', 'httpsPorts', 'rules'] as const;

/**
 * The egress rules that a request asks for; undefined when it asks for none. Throws an ApiError 400 that names the first
 * field which asks for something that is not enforced.
 */
export function readEgress(
  network: Network | Update | null | undefined,
  allowInternetAccess: boolean | null | undefined,
): EgressWish | undefined {
  const asked: Readonly<Record<string, unknown>> = network ?? {};
  for (const field of UNENFORCED) {
    if (isAsked(asked[field])) throw badRequest(`network.${field} is not available in this installation`);
  }
  const wish = {
    allowInternetAccess: allowInternetAccess ?? undefined,
    allowOut: blocksOf('allowOut', network?.allowOut),
    denyOut: blocksOf('denyOut', network?.denyOut),
  };
  const isEmpty = wish.allowOut.length === 0 && wish.denyOut.length === 0;
  return isEmpty && wish.allowInternetAccess !== false ? undefined : wish;
}

function isAsked(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function blocksOf(field: string, texts: readonly string[] | null | undefined): string[] {
  const given = texts ?? [];
  if (given.length > MAX_EGRESS_BLOCKS) {
    throw badRequest(`network.${field}: expected at most ${MAX_EGRESS_BLOCKS} entries, got ${given.length}`);
  }
  const blocks = given.map((text) => {
    const block = egressBlock(text);
    if (block !== undefined) return block;
    const what = JSON.stringify(text);
    throw badRequest(`network.${field}: ${what} is neither an address nor a CIDR; domains are not available here`);
  });
  return [...new Set(blocks)];
}

/** Of a claim that is made with these rules: it is Ready only when they hold, so nobody has to be told that they do. */
export function egressNotes(wish: EgressWish | undefined): Record<string, string> {
  if (wish === undefined) return {};
  const text = egressText(wish);
  return { [annotations.network]: text, [annotations.networkApplied]: text };
}
