import type { Sandbox } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { buildRetentionPatch } from '../../claim/lifetime.ts';
import { ApiError, badRequest, conflict, NO_RETRY, noSandbox } from '../../errors/api-error.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SavedMemory } from '../../state/saved-memory.ts';
import { getState } from '../../state/sandbox-state.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { pauseHeaders } from '../request/headers.ts';
import { pauseRequest } from '../request/schemas.ts';
import { assertNotSaved } from '../snapshots/save-sandbox.ts';
import { decidePause, readSuspension } from './decide-pause.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import { patchClaim, setMode } from './guarded-patches.ts';
import type { PatchDeps } from './guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';

export interface PauseDeps extends PatchDeps {
  readonly snapshots: Snapshots;
  readonly savedMemory: SavedMemory;
  /** Whether a pause that does not ask for memory by name may keep the volumes alone where memory cannot be kept. */
  readonly pauseFallsBack: boolean;
  readonly clock: Pick<Clock, 'now'>;
  /** How long to wait for the suspend to complete. */
  readonly transitionTimeoutMs: number;
}

export function pauseRoute(deps: PauseDeps): Route {
  return route(
    {
      ...endpoint(
        'pauseSandbox',
        'post /sandboxes/{sandboxID}/pause',
        'Pauses a sandbox. Volumes stay; memory stays if its template hibernates.',
      ),
      ...oneSandbox,
      headers: pauseHeaders,
      hideHeaders: true,
      body: pauseRequest,
      answers: done,
      action: 'sandbox.pause',
    },
    async (call) => {
      const { 'x-e2b-kruise-reserve-paused-sandbox-duration': retention } = call.readHeaders();
      const claimed = await findOwnSandbox(deps, call.key, call.params.sandboxID);
      nameInAudit(call, claimed);
      await pauseSandbox(deps, claimed, { retention, memory: call.body.memory });
      return { status: 204 };
    },
  );
}

interface PauseWish {
  readonly retention: string | undefined;
  readonly memory: boolean | null | undefined;
}

/**
 * Suspends the Sandbox and waits until no process of it runs. The claim gets its retention first, so that the claim's end cannot
 * delete the sandbox in between. Throws an ApiError: 400 if memory cannot be kept, 409 if it is paused or being saved already, 503 if it does
 * not complete in time or the memory could not be saved.
 */
async function pauseSandbox(deps: PauseDeps, claimed: ClaimedSandbox, { retention, memory }: PauseWish): Promise<void> {
  const { sandbox: before } = claimed;
  if (before === undefined) throw noSandbox(claimed.claim.metadata.name ?? '');
  if (getState(before) === 'paused') throw conflict('the sandbox is paused already');
  assertNotSaved(deps.snapshots, claimed);
  const pause = decidePause(memory, before, {
    hibernates: deps.savedMemory.isEnabled,
    fallsBack: deps.pauseFallsBack,
  });
  if (pause.kind === 'refused') throw badRequest(pause.message);
  const retained = await patchClaim(deps, claimed, ({ claim }) =>
    buildRetentionPatch(claim, deps.clock.now(), retention),
  );
  const sandbox = await setMode(deps, retained, 'Suspended');
  const suspended = await waitUntilSuspended(deps, { ...retained, sandbox });
  if (pause.kind === 'filesystem') return deps.savedMemory.drop(suspended);
  if (!(await deps.savedMemory.has(suspended))) throw unavailable(MEMORY_LOST);
}

const MEMORY_LOST =
  'the memory of the sandbox could not be saved, and its template then ends its processes; its volumes are kept';

const unavailable = (message: string): ApiError => new ApiError({ status: 503, message, headers: NO_RETRY });

/** A Sandbox whose memory could not be saved, and whose template then keeps it running, runs again. */
async function waitUntilSuspended(deps: PauseDeps, claimed: ClaimedSandbox): Promise<Sandbox> {
  const settled = await deps.state.waitUntil(
    claimed,
    (current) => {
      if (current?.sandbox === undefined) throw noSandbox(claimed.claim.metadata.name ?? '');
      return readSuspension(current.sandbox).state === 'pending' ? undefined : current;
    },
    { timeoutMs: deps.transitionTimeoutMs },
  );
  if (settled?.sandbox === undefined) throw unavailable('the sandbox is still being paused');
  const { state, message } = readSuspension(settled.sandbox);
  if (state === 'suspended') return settled.sandbox;
  await setMode(deps, settled, 'Running');
  throw unavailable(`the sandbox goes on: ${message}`);
}
