import { buildGoldenName, isGoldenOf } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxTemplate } from '@sandlot/api-types';
import { getBlueprintHash } from '@sandlot/blueprint';
import type { PodDefaults } from '@sandlot/blueprint';
import { getKey } from '@sandlot/kube';
import type { Informer } from '@sandlot/kube';
import { findTemplateGap } from '../observe.ts';
import { BY_CONTROLLER, BY_TEMPLATE } from '../wiring/cache.ts';
import type { Cache } from '../wiring/cache.ts';
import type { Attempts } from './attempts.ts';
import { RETRY_MS } from './decide-golden.ts';
import type { GoldenScene } from './scene.ts';

/** The informers of an installation that can save memory. */
export type GoldenCache = Cache & { readonly snapshots: Informer<SandboxSnapshot> };

export interface GoldenObserveDeps {
  readonly cache: GoldenCache;
  readonly podDefaults: PodDefaults;
  readonly attempts: Attempts;
}

/** What there is of the golden snapshot of a template at one moment, from caches alone: no request. */
export function observeGolden(deps: GoldenObserveDeps, template: SandboxTemplate): GoldenScene {
  const { cache, attempts } = deps;
  const key = getKey(template);
  const { uid = '' } = template.metadata;
  const wanted = findWanted(deps, template);
  const isOwn = (one: Sandbox | SandboxSnapshot): boolean => isGoldenOf(one, template);
  return {
    template,
    wanted,
    hasPool: [...cache.pools.store.listByIndex(BY_TEMPLATE, key)].some(isStaying),
    networkGap: findTemplateGap(cache, template),
    snapshots: [...cache.snapshots.store.listByIndex(BY_CONTROLLER, uid)].filter(isOwn),
    sandboxes: [...cache.sandboxes.store.listByIndex(BY_CONTROLLER, uid)].filter(isOwn),
    obstacle: findObstacle(deps, template, wanted),
    waitMs: wanted === undefined ? 0 : attempts.getWaitMs(key, wanted, RETRY_MS),
  };
}

function findWanted({ podDefaults }: GoldenObserveDeps, template: SandboxTemplate): string | undefined {
  if (template.spec.golden === undefined || !isStaying(template)) return undefined;
  return buildGoldenName(template, getBlueprintHash(template, podDefaults));
}

function findObstacle(
  { cache }: GoldenObserveDeps,
  template: SandboxTemplate,
  wanted: string | undefined,
): GoldenScene['obstacle'] {
  if (wanted === undefined) return undefined;
  const key = `${template.metadata.namespace ?? ''}/${wanted}`;
  const [snapshot, sandbox] = [cache.snapshots.store.get(key), cache.sandboxes.store.get(key)];
  if (snapshot !== undefined && !isGoldenOf(snapshot, template)) return 'SandboxSnapshot';
  return sandbox === undefined || isGoldenOf(sandbox, template) ? undefined : 'Sandbox';
}

function isStaying({ metadata }: Pick<SandboxTemplate, 'metadata'>): boolean {
  return metadata.deletionTimestamp === undefined;
}
