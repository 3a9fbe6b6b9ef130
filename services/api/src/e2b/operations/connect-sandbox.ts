import { hasUnresponsiveDaemon } from '@sandlot/api-types';
import { endPatch } from '../../claim/lifetime.ts';
import { noSandbox } from '../../errors/api-error.ts';
import type { ApiError } from '../../errors/api-error.ts';
import { conflict } from '../../errors/refusals.ts';
import { rulesTooLate } from '../../errors/create-errors.ts';
import { endpoint, route } from '../../http/route.ts';
import type { Answer, Route } from '../../http/route.ts';
import type { Limits } from '../../limits/limits.ts';
import { awaitRules, formatSpread, hasRulesOfProxy } from '../../replicas/await-rules.ts';
import type { RulesDeps } from '../../replicas/await-rules.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SavedMemory } from '../../state/saved-memory.ts';
import { isReady, isSuspended, getState } from '../../state/sandbox-state.ts';
import { buildAnswer } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import { sandboxAnswer } from '../answer/schemas.ts';
import { connectV1, connectV2, resumeRequest } from '../request/schemas.ts';
import { assertTimeout } from '../request/timeout.ts';
import { readSuspension } from './decide-pause.ts';
import { findOwnSandbox } from './find-sandbox.ts';
import { patchClaim } from './guarded-patches.ts';
import { extendSandbox } from './set-timeout.ts';
import { created, nameInAudit, oneSandbox } from './shape.ts';
import type { SandboxCall } from './shape.ts';
import { discardMemory, resume } from './transitions.ts';
import type { TransitionDeps } from './transitions.ts';

export interface ConnectDeps extends TransitionDeps, RulesDeps {
  readonly state: TransitionDeps['state'];
  readonly clock: RulesDeps['clock'];
  readonly savedMemory: SavedMemory;
  readonly limits: Pick<Limits, 'getAllowance'>;
  readonly answers: AnswerOptions;
}

export function connectRoutes(deps: ConnectDeps): readonly Route[] {
  const shape = {
    ...oneSandbox,
    answers: {
      200: { description: 'It was running; it may have been given more time.', schema: sandboxAnswer },
      201: { description: 'It was paused and has been resumed.', schema: sandboxAnswer },
    },
    action: 'sandbox.connect',
  };
  return [
    route(
      {
        ...endpoint('connectSandboxV2', 'post /v2/sandboxes/{sandboxID}/connect', 'Connects, resuming if needed.'),
        ...shape,
        body: connectV2,
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...endpoint(
          'connectSandbox',
          'post /sandboxes/{sandboxID}/connect',
          'Connects, resuming if needed (version 1).',
        ),
        ...shape,
        body: connectV1,
      },
      (call) => connect(deps, call),
    ),
    route(
      {
        ...endpoint('resumeSandbox', 'post /sandboxes/{sandboxID}/resume', 'Resumes a paused sandbox.'),
        ...oneSandbox,
        body: resumeRequest,
        answers: { 201: created },
        action: 'sandbox.resume',
      },
      (call) => resumePaused(deps, call),
    ),
  ];
}

async function connect(deps: ConnectDeps, call: SandboxCall<Omit<Wish, 'signal'>>): Promise<Answer> {
  const claimed = await findForTimeout(deps, call);
  const { resumed, current } = await connectSandbox(deps, claimed, { ...call.body, signal: call.signal });
  return { status: resumed ? 201 : 200, body: buildAnswer(current, deps.answers) };
}

/** For very old clients, which do not connect to a paused sandbox but resume it. */
async function resumePaused(deps: ConnectDeps, call: SandboxCall<Omit<Wish, 'signal'>>): Promise<Answer> {
  const claimed = await findForTimeout(deps, call);
  if (getState(claimed.sandbox) === 'running') throw conflict('the sandbox is running already');
  const { current } = await connectSandbox(deps, claimed, { ...call.body, signal: call.signal });
  return { status: 201, body: buildAnswer(current, deps.answers) };
}

async function findForTimeout(deps: ConnectDeps, call: SandboxCall<{ timeout: number }>): Promise<ClaimedSandbox> {
  assertTimeout(call.body.timeout, deps.limits.getAllowance(call.key).maxTimeoutSeconds);
  const claimed = await findOwnSandbox(deps, call.key, call.params.sandboxID);
  nameInAudit(call, claimed);
  return claimed;
}

/** `memory: false` lets a paused sandbox boot from its files and volumes; it means nothing to one that runs. */
interface Wish {
  readonly timeout: number;
  readonly memory?: boolean | null | undefined;
  /** Ends the wait for the rules of the sandbox when the client is gone. */
  readonly signal: AbortSignal;
}

interface Connection {
  readonly current: ClaimedSandbox;
  /** Whether the sandbox was paused. */
  readonly resumed: boolean;
}

/**
 * Extends a running sandbox, and resumes a paused one. Waits for a suspend or resume that is under way. Throws an ApiError 409
 * if that does not complete in time, and 503 if a sandbox that is resumed has no rules at some replica of the egress proxy.
 */
async function connectSandbox(deps: ConnectDeps, claimed: ClaimedSandbox, wish: Wish): Promise<Connection> {
  const current = await waitUntil(deps, claimed, (now) => isUp(now) || isDown(now));
  if (current === undefined) throw inTransition();
  if (getState(current.sandbox) !== 'paused') {
    return { current: await extendSandbox(deps, current, wish.timeout), resumed: false };
  }
  await chooseMemory(deps, current, wish.memory);
  return { current: await resumeSandbox(deps, current, wish), resumed: true };
}

/** Gives up saved memory that the client does not want. Throws an ApiError 409 if it wants memory in which the daemon hangs. */
async function chooseMemory(deps: ConnectDeps, claimed: ClaimedSandbox, memory: Wish['memory']): Promise<void> {
  const { claim, sandbox } = claimed;
  if (sandbox === undefined) return;
  if (memory === false) await discardMemory(deps, claimed);
  else if (hasUnresponsiveDaemon(sandbox) && (await deps.savedMemory.find(sandbox)) === 'memory')
    throw unresponsiveGuest(claim.metadata.name);
}

function unresponsiveGuest(id = ''): ApiError {
  const message = `the daemon of sandbox '${id}' did not answer when its memory was saved, and would not answer again; connect with memory=false to boot it without its memory`;
  return conflict(message, 'sandbox_snapshot_guest_agent_unresponsive');
}

async function resumeSandbox(
  deps: ConnectDeps,
  claimed: ClaimedSandbox,
  { timeout: timeoutSeconds, signal }: Wish,
): Promise<ClaimedSandbox> {
  const { clock, transitionTimeoutMs } = deps;
  const endMs = clock.now() + timeoutSeconds * 1_000;
  const extended = await patchClaim(deps, claimed, ({ claim }) => endPatch(claim, { endMs, timeoutSeconds }));
  const sandbox = await resume(deps, extended);
  const untilMs = clock.now() + transitionTimeoutMs;
  const current = await waitUntil(deps, { claim: extended.claim, sandbox }, isUp);
  if (current === undefined) throw inTransition();
  if (hasRulesOfProxy(current.claim)) {
    const spread = await awaitRules(deps, current, { timeoutMs: untilMs - clock.now(), signal });
    if (!spread.isComplete) throw rulesTooLate(formatSpread(spread));
  }
  return current;
}

/** Waits for one of the end states. Resolves with undefined on timeout; throws an ApiError 404 if the sandbox goes away. */
async function waitUntil(
  { state, transitionTimeoutMs }: ConnectDeps,
  claimed: ClaimedSandbox,
  isReached: (current: ClaimedSandbox) => boolean,
): Promise<ClaimedSandbox | undefined> {
  const id = claimed.claim.metadata.name ?? '';
  return state.waitUntil(
    claimed,
    (current) => {
      if (current === undefined || current.claim.metadata.deletionTimestamp !== undefined) throw noSandbox(id);
      return isReached(current) ? current : undefined;
    },
    { timeoutMs: transitionTimeoutMs },
  );
}

/** The claim becomes Ready only after the daemon of the new pod has its token. */
function isUp({ claim, sandbox }: ClaimedSandbox): boolean {
  return getState(sandbox) === 'running' && isReady(claim);
}

/**
 * The claim must show the suspend too; otherwise its Ready from before the pause would count as Ready after the resume. A Pod
 * whose memory could not be saved, and which is therefore kept, is as far down as it gets.
 */
function isDown({ claim, sandbox }: ClaimedSandbox): boolean {
  if (sandbox === undefined || getState(sandbox) !== 'paused') return false;
  return readSuspension(sandbox).state === 'kept' || (isSuspended(sandbox) && !isReady(claim));
}

function inTransition(): ApiError {
  return conflict('the sandbox is still being paused or resumed; try again');
}
