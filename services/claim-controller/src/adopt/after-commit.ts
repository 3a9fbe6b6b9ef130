import type { Sandbox } from '@sandlot/api-types';
import { done, getKey, requeueAfter } from '@sandlot/kube';
import type { ReconcileResult } from '@sandlot/kube';
import type { ApplyDeps } from '../plan/apply-deps.ts';
import type { Pass } from '../plan/pass.ts';
import type { AfterCommit } from '../plan/plan.ts';
import { annotate } from '../publish/annotate.ts';
import { AWAITS_DAEMON, publishSandbox } from '../publish/publish-sandbox.ts';

interface Committed {
  readonly sandbox: Sandbox;
  readonly then: readonly AfterCommit[];
}

/**
 * Does what the plan wants done with a Sandbox that this pass has committed. From the commit on the Sandbox is the claim's,
 * whatever fails here: its owner reference is the record. Skips the rest when the claim is gone or shows another Sandbox.
 */
export async function continueAfterCommit(
  deps: ApplyDeps,
  pass: Pass,
  { sandbox, then }: Committed,
): Promise<ReconcileResult> {
  deps.memory.recordCommit(pass.claim);
  deps.waiters.remove(getKey(pass.claim));
  let result: ReconcileResult = done;
  for (const next of then) {
    if (next === 'initRuntime') result = await deps.runtime.initCommitted(pass, sandbox);
    else if (next === 'annotate') annotate(deps, pass, sandbox);
    else {
      const shown = await publishSandbox(deps, pass, sandbox);
      if (shown === 'lost') return result;
      if (shown !== 'shown') return requeueAfter(shown.laterInMs, AWAITS_DAEMON);
    }
  }
  return result;
}
