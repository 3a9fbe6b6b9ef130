import { sandboxClaims } from '@sandlot/api-types';
import { isConflict, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { noSandbox } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { CreateLedger } from '../../idempotency/ledger.ts';
import type { ClaimedSandbox, ClusterState } from '../../state/cluster-state.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';

export interface KillDeps {
  readonly client: Pick<KubeClient, 'delete'>;
  readonly state: ClusterState;
  readonly ledger: Pick<CreateLedger, 'keep'>;
}

export function killRoute(deps: KillDeps): Route {
  return route(
    {
      ...endpoint('killSandbox', 'delete /sandboxes/{sandboxID}', 'Kills a sandbox, running or paused.'),
      ...oneSandbox,
      answers: done,
      action: 'sandbox.kill',
    },
    async (call) => {
      const { params, key } = call;
      const claimed = await deps.state.findSandbox(key.namespace, params.sandboxID);
      if (claimed === undefined) throw noSandbox(params.sandboxID);
      nameInAudit(call, claimed);
      if (!(await killSandbox(deps, claimed))) throw noSandbox(params.sandboxID);
      return { status: 204 };
    },
  );
}

/** Deletes the claim, and with it the Sandbox. Returns false if another request deleted it first. */
export async function killSandbox({ client, state, ledger }: KillDeps, { claim }: ClaimedSandbox): Promise<boolean> {
  const { namespace, name = '', uid } = claim.metadata;
  // The claim is the record of its create; with the claim gone, the ledger must answer a repetition of the create.
  await ledger.keep(claim, 'claim');
  try {
    await client.delete(sandboxClaims, { namespace, name }, { uid, propagationPolicy: 'Background' });
    state.claims.recordGone(claim);
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}
