import type { Served } from '../load/claims.ts';

/** The name of Sandlot's claim-controller in `managedFields`. */
const OURS = 'sandlot-claim-controller';

/** Whether nothing but Sandlot wrote the status with which a claim became Ready. Agent-sandbox publishes no events of what it serves. */
export const isServedBySandlot = ({ writers }: Served): boolean =>
  writers.length > 0 && writers.every((name) => name === OURS);

/** How many claims were served by whom. */
export function countByWriters(served: readonly Served[]): Readonly<Record<string, number>> {
  const groups = Map.groupBy(served, ({ writers }) => [...new Set(writers)].toSorted().join(' and '));
  return Object.fromEntries([...groups].map(([names, members]) => [names, members.length]));
}
