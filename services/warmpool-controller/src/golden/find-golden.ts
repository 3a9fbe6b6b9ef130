import { buildGoldenName, isGoldenOf } from '@sandlot/api-types';
import type { SandboxTemplate } from '@sandlot/api-types';
import type { Cache } from '../wiring/cache.ts';

/** Name of the golden snapshot from which members of the template can be restored now; undefined: they boot. */
export function findGolden({ snapshots }: Cache, template: SandboxTemplate, blueprintHash: string): string | undefined {
  if (snapshots === undefined || template.spec.golden === undefined) return undefined;
  const name = buildGoldenName(template, blueprintHash);
  const snapshot = snapshots.store.get(`${template.metadata.namespace ?? ''}/${name}`);
  if (snapshot === undefined || !isGoldenOf(snapshot, template)) return undefined;
  const isUsable = snapshot.status?.phase === 'Ready' && snapshot.metadata.deletionTimestamp === undefined;
  return isUsable ? name : undefined;
}
