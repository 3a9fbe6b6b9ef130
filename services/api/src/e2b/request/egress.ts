import { findEgressBlock, MAX_EGRESS_BLOCKS } from '@sandlot/api-types';
import type { EgressWish } from '@sandlot/api-types';
import type { z } from 'zod';
import { badRequest } from '../../errors/api-error.ts';
import type { networkRequest, networkUpdate } from './schemas.ts';

type Network = z.output<typeof networkRequest>;
type Update = z.output<typeof networkUpdate>;

/** Fields that Sandlot does not enforce, and must therefore refuse (docs/reference/e2b-api.md#create). */
const UNENFORCED = ['dnsServers', 'egressProxy', 'maskRequestHost', 'httpsPorts', 'rules'] as const;

/** The egress rules of a request; undefined if it has none. Throws an ApiError 400 that names the field. */
export function readEgress(
  network: Network | Update | null | undefined,
  allowInternetAccess: boolean | null | undefined,
): EgressWish | undefined {
  const fields: Readonly<Record<string, unknown>> = network ?? {};
  for (const field of UNENFORCED) {
    if (hasContent(fields[field])) throw badRequest(`network.${field} is not available in this installation`);
  }
  const wish = {
    allowInternetAccess: allowInternetAccess ?? undefined,
    allowOut: readBlocks('allowOut', network?.allowOut),
    denyOut: readBlocks('denyOut', network?.denyOut),
  };
  const isEmpty = wish.allowOut.length === 0 && wish.denyOut.length === 0;
  return isEmpty && wish.allowInternetAccess !== false ? undefined : wish;
}

/** Absent, null, `{}` and `[]` ask for nothing. */
function hasContent(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function readBlocks(field: string, texts: readonly string[] | null | undefined): string[] {
  const given = texts ?? [];
  if (given.length > MAX_EGRESS_BLOCKS) {
    throw badRequest(`network.${field}: expected at most ${MAX_EGRESS_BLOCKS} entries, got ${given.length}`);
  }
  const blocks = given.map((text) => {
    const block = findEgressBlock(text);
    if (block !== undefined) return block;
    const quoted = JSON.stringify(text);
    throw badRequest(`network.${field}: ${quoted} is neither an address nor a CIDR; domains are not available here`);
  });
  return [...new Set(blocks)];
}
