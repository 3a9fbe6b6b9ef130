import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { buildEndAgain, buildRetentionPatch } from '../../claim/lifetime.ts';
import { ApiError, NO_RETRY, noSandbox } from '../../errors/api-error.ts';
import { notPossible } from '../../errors/refusals.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SavedMemory } from '../../state/saved-memory.ts';
import { getState, isReady, wasReadyThroughout } from '../../state/sandbox-state.ts';
import { findDoing } from '../../state/transition.ts';
import type { Snapshots } from '../../state/snapshots.ts';
import { checkDaemon } from '../daemon/check-daemon.ts';
import type { DaemonHealth, HealthDeps } from '../daemon/check-daemon.ts';
import { pauseHeaders } from '../request/headers.ts';
import { pauseRequest } from '../request/schemas.ts';
import { assertNotSaved } from '../snapshots/save-sandbox.ts';
import { decideOnHealth, decidePause, needsHealth, readSuspension } from './decide-pause.ts';
import type { PauseKind } from './decide-pause.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import { patchClaim } from './guarded-patches.ts';
import { done, nameInAudit, oneSandbox } from './shape.ts';
import { checkPausable, discardMemory, resume, suspend } from './transitions.ts';
import type { Suspension, TransitionDeps } from './transitions.ts';

export interface PauseDeps extends TransitionDeps, HealthDeps {
  readonly snapshots: Snapshots;
  readonly savedMemory: SavedMemory;
  readonly clock: HealthDeps['clock'];
  /** Whether a pause that does not ask for memory by name may keep the volumes alone where memory cannot be kept. */
  readonly pauseFallsBack: boolean;
}

export function pauseRoute(deps: PauseDeps): Route {
  return route(
    {
      ...endpoint(
        'pauseSandbox',
        'post /sandboxes/{sandboxID}/pause',
        'Pauses a sandbox. Volumes stay; memory and files stay if its template hibernates.',
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
      await pauseSandbox(deps, claimed, { retention, ...call.body });
      return { status: 204 };
    },
  );
}

interface PauseWish {
  readonly retention: string | undefined;
  readonly memory?: boolean | null | undefined;
  readonly requireHealthyGuest?: boolean | null | undefined;
}

/**
 * Suspends the Sandbox and waits until no process of it runs. The claim gets its retention first, so that the claim's end cannot
 * delete the sandbox in between. Throws an ApiError: 400 if memory cannot be kept, 409 if it is paused or being saved already, 503 if it does
 * not complete in time or the memory could not be saved.
 */
async function pauseSandbox(deps: PauseDeps, claimed: ClaimedSandbox, wish: PauseWish): Promise<void> {
  const { sandbox: before } = claimed;
  if (before === undefined) throw noSandbox(claimed.claim.metadata.name ?? '');
  const running = await checkPausable(deps, claimed);
  await assertNotSaved(deps.snapshots, running);
  const pause = decidePause(wish.memory, before, {
    hibernates: deps.savedMemory.isEnabled,
    fallsBack: deps.pauseFallsBack,
  });
  if (pause.kind === 'refused') throw notPossible(pause.message);
  const keepsFiles = pause.kind === 'filesystem';
  const isUnresponsive = await isDaemonUnresponsive(deps, running, { ...wish, pause: pause.kind });
  const retained = await patchClaim(deps, running, ({ claim }) =>
    buildRetentionPatch(claim, deps.clock.now(), wish.retention),
  );
  const suspended = await suspendRetained(deps, retained, { isUnresponsive, keepsFiles }).catch(
    async (error: unknown) => {
      await restoreEnd(deps, { before: claimed.claim, retained });
      await waitUntilResumed(deps, retained);
      throw error;
    },
  );
  await assertKept(deps, { ...retained, sandbox: suspended }, pause.kind);
}

/** Throws an ApiError 503 if what the pause was to keep is lost. */
async function assertKept(deps: PauseDeps, claimed: ClaimedSandbox, pause: 'full' | 'filesystem'): Promise<void> {
  const { sandbox } = claimed;
  if (sandbox === undefined) return;
  const { savedMemory } = deps;
  if (pause === 'full') {
    if ((await savedMemory.find(sandbox)) !== 'memory') throw unavailable(MEMORY_LOST);
    return;
  }
  // An edit of the spec at the same moment, or a controller of an older release, has saved the memory as well.
  await discardMemory(deps, claimed);
  if (savedMemory.isExpected(sandbox) && (await savedMemory.find(sandbox)) === undefined) throw unavailable(FILES_LOST);
}

/** Whether the pause has to record that the daemon does not answer. Throws an ApiError 503 if it must not begin because of that. */
async function isDaemonUnresponsive(
  deps: PauseDeps,
  claimed: ClaimedSandbox,
  wish: PauseWish & { readonly pause: PauseKind['kind'] },
): Promise<boolean> {
  const { memory, requireHealthyGuest, pause } = wish;
  const asked = { memory, requireHealthyGuest, pause };
  if (!needsHealth(asked)) return false;
  const health = await readHealth(deps, claimed);
  const decision = decideOnHealth(health, asked);
  if (decision === 'refuse') throw unavailable(health === 'unknown' ? UNSURE : UNHEALTHY);
  return decision === 'mark';
}

/**
 * The gateway holds requests to a sandbox that resumes or stands still. So a missing answer counts only if the same start of the sandbox
 * was Ready before and after.
 */
async function readHealth(deps: PauseDeps, claimed: ClaimedSandbox): Promise<DaemonHealth> {
  const health = await checkDaemon(deps, claimed);
  const before = claimed.sandbox;
  if (health !== 'unresponsive' || before === undefined) return health;
  const after = await deps.state.readSandbox({
    namespace: before.metadata.namespace,
    name: before.metadata.name ?? '',
  });
  const hasRun = after !== undefined && wasReadyThroughout(before, after);
  return hasRun && !(await deps.savedMemory.isMoving(after)) ? health : 'unknown';
}

const UNHEALTHY = 'the sandbox was not paused: its daemon does not answer';
const UNSURE =
  'the sandbox was not paused: the API cannot find out whether its daemon answers; pause it without requireHealthyGuest';

async function suspendRetained(deps: PauseDeps, retained: ClaimedSandbox, how: Suspension): Promise<Sandbox> {
  const sandbox = await suspend(deps, retained, how);
  return waitUntilSuspended(deps, { ...retained, sandbox });
}

const UNDONE = 'the sandbox was resumed while it was being paused: pause it again';

interface Ends {
  readonly before: SandboxClaim;
  readonly retained: ClaimedSandbox;
}

/**
 * Gives the claim of a sandbox that goes on the end back that the pause took from it. One that is still being paused keeps its
 * retention: the end would delete it. Never rejects.
 */
async function restoreEnd(deps: PauseDeps, { before, retained }: Ends): Promise<void> {
  const { claim, sandbox } = retained;
  const { namespace, name = '' } = sandbox?.metadata ?? {};
  try {
    const current = await deps.state.readSandbox({ namespace, name });
    if (current === undefined || getState(current) === 'paused') return;
    await patchClaim(deps, retained, (now) => buildEndAgain(now.claim, { before, retained: claim }));
  } catch (err) {
    deps.log.error({ err, namespace, sandbox: before.metadata.name }, LOST_END);
  }
}

/**
 * After a pause that failed: waits until the sandbox takes requests again, which would get a 409 before. Its claim is Ready a
 * moment after the Sandbox. Ends on timeout.
 */
async function waitUntilResumed(deps: PauseDeps, claimed: ClaimedSandbox): Promise<void> {
  const isResuming = ({ claim, sandbox }: ClaimedSandbox): boolean => {
    if (sandbox === undefined || getState(sandbox) === 'paused') return false;
    return findDoing(sandbox, deps.clock.now()) === 'resuming' || !isReady(claim);
  };
  const look = (current: ClaimedSandbox | undefined): true | undefined =>
    current !== undefined && isResuming(current) ? undefined : true;
  await deps.state.waitUntil(claimed, look, { timeoutMs: deps.transitionTimeoutMs });
}

const LOST_END =
  'could not give a sandbox that was not paused its end back: set its timeout again, or it may run for ever';

const MEMORY_LOST =
  'the memory of the sandbox could not be saved, and its template then ends its processes; its volumes are kept';

const FILES_LOST =
  'the files of the sandbox could not be saved, and its template then ends its processes; its volumes are kept';

const unavailable = (message: string): ApiError => new ApiError({ status: 503, message, headers: NO_RETRY });

/** A Sandbox whose memory could not be saved, and whose template then keeps it running, runs again. */
async function waitUntilSuspended(deps: PauseDeps, claimed: ClaimedSandbox): Promise<Sandbox> {
  const since = claimed.sandbox?.metadata.generation;
  const settled = await deps.state.waitUntil(
    claimed,
    (current) => {
      if (current?.sandbox === undefined) throw noSandbox(claimed.claim.metadata.name ?? '');
      return readSuspension(current.sandbox, since).state === 'pending' ? undefined : current;
    },
    { timeoutMs: deps.transitionTimeoutMs },
  );
  if (settled?.sandbox === undefined) throw unavailable('the sandbox is still being paused');
  const { state, message } = readSuspension(settled.sandbox, since);
  if (state === 'suspended') return settled.sandbox;
  if (state === 'undone') throw unavailable(UNDONE);
  await resume(deps, settled);
  throw unavailable(`the sandbox goes on: ${message}`);
}
