import { findController } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { annotations, labels } from '../catalogue/keys.ts';
import { EXTENSIONS_GROUP } from '../objects.ts';
import type { Sandbox } from '../objects.ts';

/**
 * Whether a claim or a pool made the Sandbox: its Pod carries their labels, which NetworkPolicies select. One of them
 * controls it, a detached claim delivered it, or its owner was deleted with `--cascade=orphan` and its Pod runs on.
 */
export function isMadeByExtension(sandbox: Sandbox): boolean {
  const owner = findController(sandbox);
  if (owner !== undefined) return owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
  return sandbox.metadata.labels?.[labels.claimName] !== undefined || isOrphan(sandbox);
}

/** A single label of a Sandbox that a user wrote proves nothing; claims and pools leave several that fit together. */
function isOrphan({ metadata }: Sandbox): boolean {
  const { [labels.templateRefHash]: hash, ...others } = metadata.labels ?? {};
  const template = metadata.annotations?.[annotations.templateRef];
  const isMarked = [labels.claimUid, labels.warmPoolMember, labels.golden].some((key) => others[key] !== undefined);
  return isMarked && template !== undefined && nameHash(template) === hash;
}

/**
 * Whether no template's policy selects the Pod of a Sandbox. The template label of the Sandbox alone does not decide: the
 * sandbox-controller copies it to the Pod only if a claim or a pool created the Sandbox.
 */
export function isWithoutTemplate(sandbox: Sandbox): boolean {
  return (sandbox.metadata.labels?.[labels.templateRefHash] ?? '') === '' || !isMadeByExtension(sandbox);
}
