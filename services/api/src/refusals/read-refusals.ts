import { z } from 'zod';
import { askReplicas } from '../replicas/ask-replicas.ts';
import type { EgressReplicas } from '../replicas/ask-replicas.ts';

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

export interface ClaimKey {
  readonly namespace: string;
  readonly uid: string;
}

/** Asks every replica, because each has what went through it, and adds up. Never rejects. */
export async function readRefusals(
  replicas: EgressReplicas,
  key: ClaimKey,
  signal: AbortSignal,
): Promise<RefusalReport> {
  const answers = await askReplicas(replicas, { report: 'refusals', ...key, answer }, signal);
  // A replica whose watch has not shown the claim yet has refused it nothing.
  const found = answers.flatMap((each) => (each.status === 'fulfilled' ? (each.value?.refusals ?? []) : []));
  const isComplete = answers.length > 0 && answers.every(({ status }) => status === 'fulfilled');
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
