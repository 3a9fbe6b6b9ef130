import { labels, sandboxes } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim, SandboxTemplate } from '@sandlot/api-types';
import { buildMetadataPatch } from '@sandlot/blueprint';
import { done, isConflict, isNotFound, getKey, RetryableError } from '@sandlot/kube';
import type { JsonObject, ReconcileResult } from '@sandlot/kube';
import pMap from 'p-map';
import type { Pass } from '../plan/pass.ts';
import type { ApplyDeps } from '../plan/apply-deps.ts';

/** How many Sandboxes of one batch to patch side by side. */
const WIDTH = 10;

/** The labels of a thousand sandboxes give way to every claim. */
const PATIENTLY = { priority: 'background', deadlineMs: 60_000 } as const;

type Options = { readonly signal: AbortSignal } & Partial<typeof PATIENTLY>;

interface Sync {
  readonly sandbox: Sandbox;
  readonly template: SandboxTemplate;
}

/** Brings the pod metadata of a bound Sandbox in line with template and claim (docs/reference/sandbox-claim.md#after-binding). */
export async function syncMetadata(deps: ApplyDeps, { claim, signal }: Pass, sync: Sync): Promise<ReconcileResult> {
  await patchMetadata(deps, claim, { ...sync, options: { signal } });
  return done;
}

async function patchMetadata(
  { client }: ApplyDeps,
  claim: SandboxClaim,
  { sandbox, template, options }: Sync & { readonly options: Options },
): Promise<void> {
  const patch = buildMetadataPatch(sandbox, template, claim);
  if (patch === undefined) return;
  const { namespace, name = '', uid = '' } = sandbox.metadata;
  try {
    const metadata = { ...(patch['metadata'] as JsonObject | undefined), uid };
    await client.mergePatch(sandboxes, { namespace, name }, { ...patch, metadata }, options);
  } catch (error) {
    // Another Sandbox has the name, or the API server gave up on competing writes: the next pass sees which.
    if (isConflict(error)) throw new RetryableError(`the metadata of Sandbox ${getKey(sandbox)} met a conflict`);
    if (!isNotFound(error)) throw error;
  }
}

export interface SlotSync {
  readonly live: readonly Sandbox[];
  readonly template: SandboxTemplate;
}

/**
 * The same for the Sandboxes of a detached claim, as long as the claim exists. Compares them only when the claim's or the
 * template's metadata may have changed, since a batch of a thousand has far more passes than that.
 */
export async function syncSlots(deps: ApplyDeps, pass: Pass, { live, template }: SlotSync): Promise<ReconcileResult> {
  const { claim, signal } = pass;
  const record = deps.batches.of(claim, deps.nowMs());
  const source = getSource(claim, template);
  if (record.synced === source) return done;
  const pending = live.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const options = { ...PATIENTLY, signal };
  await pMap(pending, (sandbox) => patchMetadata(deps, claim, { sandbox, template, options }), { concurrency: WIDTH });
  record.synced = source;
  return done;
}

/** Changes whenever the metadata from claim and template may have changed. */
function getSource({ metadata }: SandboxClaim, template: SandboxTemplate): string {
  const { uid, generation } = template.metadata;
  return JSON.stringify([uid, generation, metadata.generation, metadata.labels?.[labels.createdBy]]);
}
