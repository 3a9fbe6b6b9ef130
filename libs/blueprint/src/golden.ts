// What a golden snapshot is taken of, and which members were restored from one.
import { buildGoldenName, labels, mergePodMetadata } from '@sandlot/api-types';
import type { Sandbox, SandboxTemplate } from '@sandlot/api-types';
import { nameHash } from '@sandlot/std';
import { buildBlueprint, getBlueprintHash } from './blueprint.ts';
import type { PodDefaults } from './defaults.ts';
import { ownedBy } from './owner.ts';
import { buildEgressLabel, buildOrigin, buildSandbox, withPodMetadata } from './sandbox.ts';

/**
 * The Sandbox of which the golden snapshot of a template is taken. The template controls it, and it has neither the labels
 * nor the owner of a member, so no pool counts it and no claim can adopt it: what a user put into it would be in every member.
 */
export function buildGoldenSandbox(template: SandboxTemplate, defaults: PodDefaults): Sandbox {
  const { namespace, name = '' } = template.metadata;
  const ofTemplate = { [labels.templateRefHash]: nameHash(name), [labels.createdBy]: 'controller' };
  const written = mergePodMetadata(template.spec.podTemplate.metadata, undefined);
  return buildSandbox(
    {
      name: buildGoldenName(template, getBlueprintHash(template, defaults)),
      namespace,
      labels: { ...ofTemplate, ...buildEgressLabel(template, defaults), [labels.golden]: nameHash(name) },
      annotations: buildOrigin(template),
      // Nothing waits for it, so the controller needs no right to the finalizers of templates.
      ownerReferences: [{ ...ownedBy(template), blockOwnerDeletion: false }],
    },
    withPodMetadata(buildBlueprint(template, defaults), {
      labels: { ...written.labels, ...ofTemplate },
      annotations: written.annotations,
    }),
  );
}

/**
 * The spec of a member as the blueprint of its template had it: without the golden snapshot from which it started. The name
 * of that snapshot follows from the hash on the member, so that no other snapshot passes for it.
 */
export function withoutGoldenStart({ metadata, spec }: Sandbox, template: SandboxTemplate): Sandbox['spec'] {
  const { restoreFrom, ...rest } = spec;
  const hash = metadata.labels?.[labels.templateHash];
  if (restoreFrom === undefined || hash === undefined) return spec;
  return restoreFrom.snapshotName === buildGoldenName(template, hash) ? rest : spec;
}
