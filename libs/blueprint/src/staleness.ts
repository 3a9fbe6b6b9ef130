import { labels, sameBlueprint } from '@sandlot/api-types';
import type { Blueprint, Sandbox, SandboxTemplate } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';
import { blueprintHashOf, blueprintOf } from './blueprint.ts';
import type { PodDefaults } from './defaults.ts';

/** Whether a pool member is built from `template` as it is now. */
export type CurrencyTest = (member: Sandbox, template: SandboxTemplate) => boolean;

interface Wanted {
  readonly refHash: string;
  readonly hash: string;
  readonly blueprint: Blueprint;
}

/**
 * Judges members under the installation's pod defaults. Equal hashes settle it; a member that another writer hashed
 * differently is compared by meaning: pod spec, volume claim templates by position, service and runtime. Metadata never
 * makes a member stale (API contract, staleness). What it works out about a template object is kept as long as that
 * object: give the objects of a cache, which are never changed.
 */
export function createCurrencyTest(defaults: PodDefaults): CurrencyTest {
  const known = new WeakMap<SandboxTemplate, Wanted>();
  const wantedBy = (template: SandboxTemplate): Wanted => {
    const wanted = known.get(template) ?? {
      refHash: nameHash(template.metadata.name ?? ''),
      hash: blueprintHashOf(template, defaults),
      blueprint: blueprintOf(template, defaults),
    };
    known.set(template, wanted);
    return wanted;
  };
  return ({ metadata, spec }, template) => {
    const { refHash, hash, blueprint } = wantedBy(template);
    if (metadata.labels?.[labels.templateRefHash] !== refHash) return false;
    return metadata.labels[labels.templateHash] === hash || sameBlueprint(spec, blueprint);
  };
}
