import type { Sandbox } from '@sandlot/api-types';
import { isNotFound, parseKey, RetryableError } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { sandboxes } from '@sandlot/api-types';
import type { ClaimMemory } from '../memory/claim-memory.ts';
import type { Pass } from '../plan/pass.ts';
import type { Stock } from '../stock/stock.ts';
import { isCommitted } from './owner.ts';
import type { CommitTarget } from './owner.ts';

/** The last adoption patch of a claim or slot, while its outcome is unknown. */
export interface Commitment {
  /** Key of a Sandbox that may or may not be committed. No other candidate is touched before it is confirmed. */
  unconfirmed?: string | undefined;
}

export interface ConfirmDeps {
  readonly client: KubeClient;
  readonly stock: Stock;
  readonly memory: ClaimMemory;
}

/** Confirms the adoption of an earlier pass of a bound claim, if its outcome is unknown. */
export async function confirmCommit(deps: ConfirmDeps, { claim, signal }: Pass): Promise<void> {
  const committed = await confirm(deps, { claim, record: deps.memory.of(claim), signal });
  if (committed !== undefined) deps.memory.assign(claim, committed);
}

interface ConfirmInput extends CommitTarget {
  readonly record: Commitment;
  readonly signal: AbortSignal;
}

/**
 * Finds out the fate of an adoption that an earlier pass could not: the Sandbox, if it was committed. Throws while the API
 * server does not answer, so that the claim is retried and gets no second Sandbox meanwhile.
 */
export async function confirm(deps: Omit<ConfirmDeps, 'memory'>, input: ConfirmInput): Promise<Sandbox | undefined> {
  const { unconfirmed } = input.record;
  if (unconfirmed === undefined) return undefined;
  const live = await readUnconfirmed(deps, input.record, input.signal);
  if (live !== undefined && isCommitted(live, input)) return live;
  deps.stock.release(unconfirmed);
  return undefined;
}

/** The unconfirmed Sandbox as the API server has it; undefined when it is gone. Until this succeeds, every pass begins with it. */
export async function readUnconfirmed(
  { client }: Pick<ConfirmDeps, 'client'>,
  record: Commitment,
  signal: AbortSignal,
): Promise<Sandbox | undefined> {
  let live: Sandbox | undefined;
  try {
    live = await client.get(sandboxes, parseKey(record.unconfirmed ?? ''), { priority: 'claim', signal });
  } catch (error) {
    if (!isNotFound(error)) throw new RetryableError('whose a Sandbox is cannot be read', { cause: error });
  }
  record.unconfirmed = undefined;
  return live;
}
