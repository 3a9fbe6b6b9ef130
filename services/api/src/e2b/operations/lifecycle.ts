import { modeSpellingOf, resumePatch, sandboxClaims, sandboxes, suspendPatch } from '@sandlot/api-types';
import type { Sandbox, SandboxClaim } from '@sandlot/api-types';
import { isConflict, isNotFound, keyOf } from '@sandlot/kube';
import type { JsonObject, ObjectKey } from '@sandlot/kube';
import type { ApiKey } from '@sandlot/tenancy';
import type { Deps } from '../../wiring/deps.ts';
import { ApiError, conflict, noSandbox } from '../../errors/api-error.ts';
import type { Held } from '../../state/cluster-state.ts';
import { endAtMs, endPatch, retentionPatch } from '../../claim/lifetime.ts';
import { isOver, isReady, isSuspended, stateOf } from '../answer/view.ts';

const MAX_TRIES = 6;

/** The sandbox of that id, if it is the key's and has been there for its caller. Throws an ApiError 404. */
export async function ownSandbox({ world, clock }: Deps, key: ApiKey, id: string): Promise<Held> {
  const held = await world.find(key.namespace, id);
  if (held === undefined || held.claim.status?.completionTime === undefined) throw noSandbox(id);
  if (isOver(held.claim, clock.now())) throw noSandbox(id);
  return held;
}

/** The same, of those that run (E2B contract, lifetime). */
export async function runningSandbox(deps: Deps, key: ApiKey, id: string): Promise<Held> {
  const held = await ownSandbox(deps, key, id);
  if (stateOf(held.sandbox) === 'paused') throw noSandbox(id);
  return held;
}

type Decision = (held: Held) => JsonObject | undefined;

/**
 * Patches the claim as decided from what it is now; nothing when that is undefined. An edit that comes first makes it decide
 * again. Throws an ApiError 404 once the claim is gone.
 */
export async function patchClaim(deps: Deps, held: Held, decide: Decision): Promise<Held> {
  const { client, world } = deps;
  let current = held;
  for (let tries = 1; ; tries += 1) {
    const patch = decide(current);
    if (patch === undefined) return current;
    const { namespace, name = '', uid, resourceVersion } = current.claim.metadata;
    const guarded = guardedBy(patch, { uid, resourceVersion });
    try {
      const call = (): Promise<SandboxClaim> => client.mergePatch(sandboxClaims, { namespace, name }, guarded);
      return { ...current, claim: await world.claims.write(`${namespace ?? ''}/${name}`, call) };
    } catch (error) {
      if (isNotFound(error)) throw noSandbox(name);
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      current = await reread(deps, current);
    }
  }
}

async function reread({ world }: Deps, { claim }: Held): Promise<Held> {
  const { namespace, name = '' } = claim.metadata;
  const current = await world.readClaim({ namespace, name });
  const isSame = current?.metadata.uid === claim.metadata.uid && current?.metadata.deletionTimestamp === undefined;
  if (current === undefined || !isSame) throw noSandbox(name);
  return world.held(current);
}

/** Suspends or resumes a Sandbox in the spelling it uses; an edit that comes first makes it look again. */
async function setMode(deps: Deps, held: Held, mode: Mode): Promise<Sandbox> {
  const id = held.claim.metadata.name ?? '';
  let sandbox = held.sandbox;
  for (let tries = 1; ; tries += 1) {
    if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) throw noSandbox(id);
    if (stateOf(sandbox) === WANTED_STATE[mode]) return sandbox;
    try {
      return await patchMode(deps, sandbox, mode);
    } catch (error) {
      if (isNotFound(error)) throw noSandbox(id);
      if (!isConflict(error) || tries >= MAX_TRIES) throw error;
      sandbox = await deps.world.readSandbox(nameOf(sandbox));
    }
  }
}

type Mode = 'Running' | 'Suspended';
const WANTED_STATE = { Running: 'running', Suspended: 'paused' } as const;

function nameOf({ metadata: { namespace, name = '' } }: Sandbox): ObjectKey {
  return { namespace, name };
}

async function patchMode({ client, world }: Deps, sandbox: Sandbox, mode: Mode): Promise<Sandbox> {
  const spelling = modeSpellingOf(sandbox.spec);
  const patch =
    mode === 'Suspended' ? suspendPatch(sandbox, { by: 'API', spelling }) : resumePatch(sandbox, { spelling });
  return world.sandboxes.write(keyOf(sandbox), () => client.mergePatch(sandboxes, nameOf(sandbox), patch));
}

interface Guard {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

function guardedBy(patch: JsonObject, guard: Guard): JsonObject {
  const metadata = (patch['metadata'] ?? {}) as JsonObject;
  return { ...patch, metadata: { ...metadata, ...guard } };
}

/** Pauses: what keeps it comes first, so that a repetition after a crash finishes what was begun. Throws 409 when it is. */
export async function pauseSandbox(deps: Deps, held: Held, retention: string | undefined): Promise<void> {
  if (stateOf(held.sandbox) === 'paused') throw conflict('the sandbox is paused already');
  const kept = await patchClaim(deps, held, ({ claim }) => retentionPatch(claim, deps.clock.now(), retention));
  const sandbox = await setMode(deps, kept, 'Suspended');
  const done = await deps.world.settle(
    { claim: kept.claim, sandbox },
    (current) => {
      if (current === undefined) throw noSandbox(kept.claim.metadata.name ?? '');
      return isSuspended(current.sandbox) ? true : undefined;
    },
    { timeoutMs: deps.settings.TRANSITION_TIMEOUT },
  );
  if (done === undefined) throw new ApiError({ status: 503, message: 'the sandbox is still being paused' });
}

export interface Connected {
  readonly held: Held;
  /** Whether it had to be resumed. */
  readonly resumed: boolean;
}

/**
 * Connects to a sandbox: one that runs is given more time if that is later, a paused one is resumed. A transition that others
 * began is waited for. Throws 409 when it does not come to an end.
 */
export async function connectSandbox(deps: Deps, held: Held, timeoutSeconds: number): Promise<Connected> {
  const settledState = await settledOf(deps, held);
  if (settledState === undefined) throw inTransition();
  if (stateOf(settledState.sandbox) === 'paused') {
    return { held: await resumed(deps, settledState, timeoutSeconds), resumed: true };
  }
  return { held: await extended(deps, settledState, timeoutSeconds), resumed: false };
}

/** Gives a sandbox more time, if that is later than what it has. */
export async function extended(deps: Deps, held: Held, timeoutSeconds: number): Promise<Held> {
  const endMs = deps.clock.now() + timeoutSeconds * 1_000;
  return patchClaim(deps, held, ({ claim }) => {
    const before = endAtMs(claim);
    return before === undefined || before >= endMs ? undefined : endPatch(claim, { endMs, timeoutSeconds });
  });
}

async function resumed(deps: Deps, held: Held, timeoutSeconds: number): Promise<Held> {
  const endMs = deps.clock.now() + timeoutSeconds * 1_000;
  const given = await patchClaim(deps, held, ({ claim }) => endPatch(claim, { endMs, timeoutSeconds }));
  const sandbox = await setMode(deps, given, 'Running');
  const up = await untilReady(deps, { claim: given.claim, sandbox });
  if (up === undefined) throw inTransition();
  return up;
}

/** Ready for its user: the claim says so only once the daemon of the new pod has its token. */
async function untilReady(deps: Deps, held: Held): Promise<Held | undefined> {
  return settle(deps, held, (current) => (isUp(current) ? current : undefined));
}

/** Running and Ready, or paused for good; undefined when it is still on its way after the time for that. */
async function settledOf(deps: Deps, held: Held): Promise<Held | undefined> {
  return settle(deps, held, (current) => (isUp(current) || isDown(current) ? current : undefined));
}

async function settle(
  { world, settings }: Deps,
  held: Held,
  look: (held: Held) => Held | undefined,
): Promise<Held | undefined> {
  const id = held.claim.metadata.name ?? '';
  return world.settle(
    held,
    (current) => {
      if (current === undefined || current.claim.metadata.deletionTimestamp !== undefined) throw noSandbox(id);
      return look(current);
    },
    { timeoutMs: settings.TRANSITION_TIMEOUT },
  );
}

function isUp({ claim, sandbox }: Held): boolean {
  return stateOf(sandbox) === 'running' && isReady(claim);
}

/** The claim must have seen it too: a Ready from before the pause would pass for that of the resume. */
function isDown({ claim, sandbox }: Held): boolean {
  return stateOf(sandbox) === 'paused' && isSuspended(sandbox) && !isReady(claim);
}

function inTransition(): ApiError {
  return conflict('the sandbox is still being paused or resumed; try again');
}

/** Deletes the claim; its Sandbox goes with it. False when somebody else was faster. */
export async function killSandbox({ client, world, ledger }: Deps, { claim }: Held): Promise<boolean> {
  const { namespace, name = '', uid } = claim.metadata;
  // What it was made by must be known for as long as its key counts: until here the claim itself said so.
  await ledger.keep(claim, 'claim');
  try {
    await client.delete(sandboxClaims, { namespace, name }, { uid, propagationPolicy: 'Background' });
    world.claims.gone(claim);
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}
