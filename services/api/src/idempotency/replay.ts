import { annotations } from '@sandlot/api-types';
import { deriveEnvdAccessToken, deriveTrafficAccessToken } from '@sandlot/tenancy';
import { buildAnswer } from '../e2b/answer/sandbox.ts';
import type { AnswerOptions } from '../e2b/answer/sandbox.ts';
import type { SandboxAnswer } from '../e2b/answer/schemas.ts';
import { firstRequestInProgress, idempotencyMismatch } from '../errors/create-errors.ts';
import type { CreateRequest } from '../e2b/request/read-create.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { wasReady } from '../state/sandbox-state.ts';
import { completeCreate } from './complete-create.ts';
import type { CompletionDeps } from './complete-create.ts';
import type { CreateIdentity } from './identify.ts';
import type { CreateLedger } from './ledger.ts';
import type { CreateRecord } from './record.ts';

export interface ReplayDeps extends CompletionDeps {
  readonly state: Pick<ClusterState, 'readClaim' | 'withSandbox'>;
  readonly ledger: Pick<CreateLedger, 'find'>;
  readonly answers: AnswerOptions;
}

/** A create with an Idempotency-Key. */
export type RepeatableCreate = CreateIdentity & {
  readonly digest: string;
  readonly request: Pick<CreateRequest, 'envs' | 'headerRules'>;
};

/**
 * The answer of the first create with the same Idempotency-Key, even if its sandbox is gone; undefined if this is the first. Stores what
 * that one could not.
 * Throws an ApiError: 422 if the first had another body, 409 while it is not finished.
 */
export async function replayCreate(
  deps: ReplayDeps,
  { sandbox, digest, request }: RepeatableCreate,
): Promise<SandboxAnswer | undefined> {
  const { state, ledger, answers } = deps;
  const [claim, record] = await Promise.all([state.readClaim(sandbox), ledger.find(sandbox.name)]);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
    if (record === undefined) return undefined;
    if (record.digest !== digest) throw idempotencyMismatch();
    return answerOfRecord(sandbox, record, answers);
  }
  if (claim.metadata.annotations?.[annotations.requestDigest] !== digest) throw idempotencyMismatch();
  await completeCreate(deps, claim, request);
  if (!wasReady(claim)) throw firstRequestInProgress();
  return buildAnswer(state.withSandbox(claim), answers);
}

/** The first answer again, also without its claim: the tokens are derived from the id. */
function answerOfRecord(
  { namespace, name }: CreateIdentity['sandbox'],
  { templateID, envdVersion, closed, tokenKey }: CreateRecord,
  { tokenKeys, domain }: AnswerOptions,
): SandboxAnswer {
  const subject = `${namespace}/${name}`;
  const key = tokenKeys.find(tokenKey);
  return {
    templateID,
    alias: templateID,
    sandboxID: name,
    clientID: 'sandlot',
    envdVersion,
    envdAccessToken: deriveEnvdAccessToken(key, subject),
    trafficAccessToken: closed ? deriveTrafficAccessToken(key, subject) : null,
    domain: domain ?? null,
  };
}
