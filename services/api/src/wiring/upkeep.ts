import type { Deps } from './deps.ts';
import type { Sweep } from './sweeps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What every replica does besides answering: what one that died has left undone. No lease is needed for any of it. */
export function sweepsOf(deps: Deps): readonly Sweep[] {
  const { ledger } = deps;
  return [
    { name: 'records of creates', everyMs: MINUTE_MS, run: () => ledger.repair() },
    { name: 'overdue records of creates', everyMs: HOUR_MS, run: () => ledger.prune() },
  ];
}
