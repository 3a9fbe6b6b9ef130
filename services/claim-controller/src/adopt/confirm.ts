import { sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { parseKey, RetryableError } from '@sandlot/kube';
import type { KubeClient, OwnWrites } from '@sandlot/kube';
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
  readonly sandboxes: OwnWrites<Sandbox>;
  readonly stock: Stock;
}

interface ConfirmInput extends CommitTarget {
  readonly record: Commitment;
  readonly signal: AbortSignal;
}

/**
 * Finds out the fate of an adoption whose outcome no earlier pass knew: the Sandbox, if it was committed. Throws while the
 * API server does not answer, so that the claim is retried and gets no second Sandbox meanwhile.
 */
export async function confirmCommit(deps: ConfirmDeps, input: ConfirmInput): Promise<Sandbox | undefined> {
  const { unconfirmed } = input.record;
  if (unconfirmed === undefined) return undefined;
  const live = await readUnconfirmed(deps, input.record, input.signal);
  if (live !== undefined && isCommitted(live, input)) return live;
  deps.stock.release(unconfirmed);
  return undefined;
}

/** The unconfirmed Sandbox as the API server has it; undefined when it is gone. While this fails, every pass begins with it. */
export async function readUnconfirmed(
  { client, sandboxes: own }: Pick<ConfirmDeps, 'client' | 'sandboxes'>,
  record: Commitment,
  signal: AbortSignal,
): Promise<Sandbox | undefined> {
  const key = record.unconfirmed ?? '';
  const find = (): Promise<Sandbox | undefined> => client.find(sandboxes, parseKey(key), { priority: 'claim', signal });
  try {
    const live = await own.read(key, find);
    record.unconfirmed = undefined;
    return live;
  } catch (error) {
    throw new RetryableError('cannot read which claim has a Sandbox', { cause: error });
  }
}
