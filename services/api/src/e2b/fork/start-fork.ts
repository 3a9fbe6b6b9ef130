import { getTemplateId } from '@sandlot/api-types';
import type { SandboxClaim, SandboxSnapshot } from '@sandlot/api-types';
import { carrier } from '@sandlot/telemetry';
import { createSandboxId } from '@sandlot/tenancy';
import type { ApiKey } from '@sandlot/tenancy';
import type { z } from 'zod';
import { buildForkClaim } from '../../claim/build-fork-claim.ts';
import type { Variables } from '../../claim/env-secret.ts';
import { endPatch } from '../../claim/lifetime.ts';
import { startClaim, withdrawClaim } from '../../claim/start-claim.ts';
import type { StartDeps } from '../../claim/start-claim.ts';
import { buildTokenAnnotations } from '../../claim/token-annotations.ts';
import { toApiError } from '../../errors/to-api-error.ts';
import type { Limits } from '../../limits/limits.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { HeaderValues } from '../../vault/stored-headers.ts';
import { buildAnswer } from '../answer/sandbox.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import { buildTokens } from '../answer/tokens.ts';
import { getResult } from '../operations/create-metrics.ts';
import type { CreateMetrics } from '../operations/create-metrics.ts';
import { patchClaim } from '../operations/guarded-patches.ts';
import type { forkEntry } from './schemas.ts';

export interface ForkDeps extends StartDeps {
  readonly answers: AnswerOptions;
  readonly limits: Pick<Limits, 'getAllowance'>;
  readonly createMetrics: CreateMetrics;
}

export interface Fork {
  readonly source: ClaimedSandbox;
  readonly snapshot: SandboxSnapshot;
  readonly key: ApiKey;
  readonly envs: Variables;
  readonly headers: HeaderValues;
  readonly place: Disposable;
  /** When the answer is due, epoch milliseconds. */
  readonly deadlineMs: number;
  readonly timeoutSeconds: number;
}

/** Starts one fork and waits until it is usable. After an error nothing of the fork is left. Never rejects. */
export async function startFork(deps: ForkDeps, fork: Fork): Promise<z.input<typeof forkEntry>> {
  try {
    const sandbox = buildAnswer(await startForkClaim(deps, fork), deps.answers);
    deps.createMetrics.countCreate('created');
    return { sandbox };
  } catch (err) {
    deps.createMetrics.countCreate(getResult(err));
    const error = toApiError(err);
    const { namespace, name } = fork.source.claim.metadata;
    if (error.status === 500) deps.log.warn({ err, namespace, sandbox: name }, 'a fork of the sandbox failed');
    return { error: error.body() };
  }
}

async function startForkClaim(deps: ForkDeps, fork: Fork): Promise<ClaimedSandbox> {
  const { source, snapshot, envs, headers, place, deadlineMs, timeoutSeconds } = fork;
  const { clock } = deps;
  const claimed = await startClaim(deps, {
    claim: buildClaim(deps, fork),
    envs,
    headers,
    asked: { isPatient: true, templateID: snapshot.metadata.name ?? getTemplateId(source.claim) },
    place,
    mayExist: false,
    timeoutMs: Math.max(0, deadlineMs - clock.now()),
    lifetimeSeconds: undefined,
    // The other forks go on without the client as well.
    signal: undefined,
  });
  try {
    // Its time begins now, and what happens at its end is from now on that of the source.
    const end = { endMs: clock.now() + timeoutSeconds * 1_000, timeoutSeconds };
    return await patchClaim(deps, claimed, ({ claim }) => endPatch(claim, end));
  } catch (error) {
    await withdrawClaim(deps, claimed.claim);
    throw error;
  }
}

/** If this replica dies before its answer, the claim ends when its time would be over in the longest case. */
function buildClaim({ answers, limits, clock }: ForkDeps, fork: Fork): SandboxClaim {
  const { source, snapshot, key, envs, deadlineMs, timeoutSeconds } = fork;
  const id = createSandboxId();
  const isPublic = buildTokens(source.claim, answers.tokenKeys).traffic === undefined;
  return buildForkClaim({
    source: source.claim,
    templateName: snapshot.spec.templateName ?? '',
    key,
    sandboxLimit: limits.getAllowance(key).sandboxes,
    id,
    envs,
    nowMs: clock.now(),
    endMs: deadlineMs + timeoutSeconds * 1_000,
    timeoutSeconds,
    tokens: buildTokenAnnotations(answers.tokenKeys, { namespace: key.namespace, name: id }, { isPublic }),
    trace: carrier.inject(),
  });
}
