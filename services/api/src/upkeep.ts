import type { Deps } from './deps.ts';
import { sweepEnvs } from './e2b/env-sweep.ts';
import type { Sweep } from './sweeps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What every replica does besides answering: what one that died has left undone. No lease is needed for any of it. */
export function sweepsOf(deps: Deps): readonly Sweep[] {
  const { ledger, settings } = deps;
  const namespace = settings.WATCH_NAMESPACE;
  return [
    { name: 'records of creates', everyMs: MINUTE_MS, run: () => ledger.repair() },
    { name: 'overdue records of creates', everyMs: HOUR_MS, run: () => ledger.prune() },
    { name: 'variables of unfinished creates', everyMs: HOUR_MS, run: () => sweepEnvs({ ...deps, namespace }) },
  ];
}
