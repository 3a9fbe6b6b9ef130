// When a Sandbox belongs to a pool. Each question has its own predicate, because they need different proof.
import { findController } from '@sandlot/kube/objects';
import { nameHash } from '@sandlot/std';
import { labels } from '../catalogue/keys.ts';
import { EXTENSIONS_GROUP } from '../objects.ts';
import type { Sandbox, SandboxWarmPool } from '../objects.ts';
import { isFinished } from './readiness.ts';

/** Whether a pool controls the Sandbox: it waits for a claim, and its lifetime has not begun. */
export function isPoolMember(sandbox: Sandbox): boolean {
  const owner = findController(sandbox);
  return owner?.kind === 'SandboxWarmPool' && owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
}

/**
 * Whether the Sandbox shows any sign of a pool, or of what members are restored from: the label, or an owner that is a pool
 * or a template, controller or not. Stricter than {@link isPoolMember} on purpose: no request may reach a Sandbox before an
 * adoption has removed every sign.
 */
export function hasSignOfPool({ metadata }: Sandbox): boolean {
  const { [labels.warmPoolMember]: member, [labels.golden]: golden } = metadata.labels ?? {};
  if (member !== undefined || golden !== undefined) return true;
  return metadata.ownerReferences?.some(({ kind }) => UNCLAIMED_OWNERS.has(kind)) === true;
}

const UNCLAIMED_OWNERS: ReadonlySet<string> = new Set(['SandboxWarmPool', 'SandboxTemplate']);

/**
 * Whether the pool counts the Sandbox: it controls it by UID, and the label says that it was made for this pool
 * (docs/reference/sandbox-warm-pool.md#members).
 */
export function isMemberOf(sandbox: Sandbox, { metadata: { name = '', uid } }: SandboxWarmPool): boolean {
  if (findController(sandbox)?.uid !== uid) return false;
  return sandbox.metadata.labels?.[labels.warmPoolMember] === nameHash(name);
}

/**
 * Whether a claim may adopt the Sandbox from the pool: the pool still controls it by UID, and it is neither being deleted
 * nor finished. Labels do not count: this also completes an adoption that another controller noted on the claim.
 */
export function isAdoptable(sandbox: Sandbox, { metadata: { uid } }: SandboxWarmPool): boolean {
  const isDeleting = sandbox.metadata.deletionTimestamp !== undefined;
  return findController(sandbox)?.uid === uid && !isDeleting && !isFinished(sandbox);
}

/**
 * Whether the Sandbox is stock of the pool, which claims choose from: adoptable, and labelled with some pool and template
 * (docs/reference/sandbox-claim.md#adoption).
 */
export function isStock(sandbox: Sandbox, pool: SandboxWarmPool): boolean {
  const { [labels.warmPoolMember]: member, [labels.templateRefHash]: template } = sandbox.metadata.labels ?? {};
  return member !== undefined && template !== undefined && isAdoptable(sandbox, pool);
}
