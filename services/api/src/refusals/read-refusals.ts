import { lookup } from 'node:dns/promises';
import { z } from 'zod';

/** A destination that the sandboxes of a claim were refused. */
const refusal = z.object({
  protocol: z.string(),
  host: z.string(),
  port: z.int().optional(),
  reason: z.string(),
  count: z.int(),
  last: z.iso.datetime({ offset: true }),
});
export type Refusal = z.output<typeof refusal>;
const answer = z.object({ refusals: z.array(refusal) });

/** What all replicas of the egress proxy have refused to a claim. */
export interface RefusalReport {
  /** The newest first. */
  readonly refusals: readonly Refusal[];
  /** False if a replica did not answer, so that counts may be too low. */
  readonly isComplete: boolean;
}

/** Where the rules processes of the egress proxy are: a name with the addresses of all. */
export interface RefusalServers {
  readonly host: string;
  readonly port: number;
}

export interface ClaimKey {
  readonly namespace: string;
  readonly uid: string;
}

/** A replica that hangs must not hold the answer of the others. */
const PATIENCE_MS = 2_000;

/** Asks every replica, because each has what went through it, and adds up. Never rejects. */
export async function readRefusals(
  { host, port }: RefusalServers,
  { namespace, uid }: ClaimKey,
  signal: AbortSignal,
): Promise<RefusalReport> {
  const addresses = await lookup(host, { all: true }).catch(() => []);
  const ask = async (address: string): Promise<readonly Refusal[]> => {
    const at = address.includes(':') ? `[${address}]` : address;
    const response = await fetch(`http://${at}:${port}/refusals/${namespace}/${uid}`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    // A replica whose watch has not shown the claim yet has refused it nothing.
    if (response.status === 404) return [];
    return answer.parse(await response.json()).refusals;
  };
  const answers = await Promise.allSettled(addresses.map(({ address }) => ask(address)));
  const found = answers.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  const isComplete = addresses.length > 0 && answers.every(({ status }) => status === 'fulfilled');
  return { refusals: addUp(found), isComplete };
}

/** One entry for each destination and reason. */
export function addUp(refusals: readonly Refusal[]): readonly Refusal[] {
  const byKey = new Map<string, Refusal>();
  for (const each of refusals) {
    const key = JSON.stringify([each.protocol, each.host, each.port, each.reason]);
    const known = byKey.get(key);
    const last = known === undefined || known.last < each.last ? each.last : known.last;
    byKey.set(key, { ...each, count: each.count + (known?.count ?? 0), last });
  }
  return [...byKey.values()].sort((a, b) => (a.last < b.last ? 1 : -1));
}
