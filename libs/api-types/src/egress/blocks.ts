import { EVERY_IPV4, EVERY_IPV6, parseCidr } from '@sandlot/std';
import type { Cidr } from '@sandlot/std';
import { z } from 'zod';

/** Addresses that a rule of a NetworkPolicy allows: a block without its exceptions. */
export interface EgressBlock {
  readonly cidr: Cidr;
  readonly except: readonly Cidr[];
}

const peers = z.array(
  z.object({ ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional() }),
);

/** Reads blocks, and leaves out what is none. */
export function listCidrs(texts: readonly string[]): Cidr[] {
  return texts.map(parseCidr).filter((block) => block !== undefined);
}

/** The peers of an egress rule that are address blocks: all addresses without peers, and none if they cannot be read. */
export function listEgressBlocks(to: unknown): EgressBlock[] {
  const found = peers.safeParse(to ?? []).data;
  if (found === undefined) return [];
  if (found.length === 0) return [EVERY_IPV4, EVERY_IPV6].map((cidr) => ({ cidr, except: [] }));
  return found.flatMap(({ ipBlock }) => {
    const cidr = ipBlock === undefined ? undefined : parseCidr(ipBlock.cidr);
    return cidr === undefined ? [] : [{ cidr, except: listCidrs(ipBlock?.except ?? []) }];
  });
}
