import { labels, hasSameBlueprint } from '@sandlot/api-types';
import type { Blueprint, Sandbox, SandboxTemplate } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';
import { getBlueprintHash, buildBlueprint } from './blueprint.ts';
import type { PodDefaults } from './defaults.ts';
import { withoutGoldenStart } from './golden.ts';

/** Whether a pool member is built from `template` as it is now. */
export type CurrencyTest = (member: Sandbox, template: SandboxTemplate) => boolean;

interface Wanted {
  readonly refHash: string;
  readonly hash: string;
  readonly blueprint: Blueprint;
}

/**
 * Whether the template gives Sandboxes a daemon and the member has none: its template had none before, or agent-sandbox wrote the
 * member without the fields that it does not know. The clients of such a template get 401 from it.
 */
export function lacksDaemon(member: Sandbox, template: SandboxTemplate): boolean {
  return template.spec.runtime?.inject === true && member.spec.runtime?.inject !== true;
}

/**
 * Judges members under the installation's pod defaults. A member with an equal hash is current, unless it lost its daemon. With
 * a different hash, which another writer may have computed in its own way, the blueprints are compared by meaning: pod spec,
 * volume claim templates by position, service, runtime and the snapshot to start from. Metadata never makes a member stale
 * (docs/reference/sandbox-warm-pool.md#staleness-and-rollout). Results are cached per template object, so pass the unchanging
 * objects of an informer.
 */
export function createCurrencyTest(defaults: PodDefaults): CurrencyTest {
  const known = new WeakMap<SandboxTemplate, Wanted>();
  const wantedBy = (template: SandboxTemplate): Wanted => {
    const wanted = known.get(template) ?? {
      refHash: nameHash(template.metadata.name ?? ''),
      hash: getBlueprintHash(template, defaults),
      blueprint: buildBlueprint(template, defaults),
    };
    known.set(template, wanted);
    return wanted;
  };
  return (member, template) => {
    const { refHash, hash, blueprint } = wantedBy(template);
    const { labels: marks = {} } = member.metadata;
    if (marks[labels.templateRefHash] !== refHash || lacksDaemon(member, template)) return false;
    return marks[labels.templateHash] === hash || hasSameBlueprint(withoutGoldenStart(member, template), blueprint);
  };
}
