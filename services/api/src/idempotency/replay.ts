import { annotations } from '@sandlot/api-types';
import type { ObjectKey } from '@sandlot/kube';
import { envdAccessToken, trafficAccessToken } from '@sandlot/tenancy';
import type { Deps } from '../wiring/deps.ts';
import { ApiError } from '../errors/api-error.ts';
import type { CreateRecord } from './record.ts';
import type { SandboxAnswer } from '../e2b/request/schemas.ts';
import { answerOf } from '../e2b/answer/tokens.ts';

/** A create that may be a repetition: what it was, and the id that its key leads to. */
export interface Repeatable {
  readonly sandbox: ObjectKey & { readonly namespace: string };
  readonly digest: string;
}

/**
 * What the first request of that key was answered, also when its sandbox is gone since; undefined when this is the first one.
 * Throws an ApiError 422 when that was another request, 409 while it is not finished.
 */
export async function replayed(deps: Deps, { sandbox, digest }: Repeatable): Promise<SandboxAnswer | undefined> {
  const { world, ledger } = deps;
  const [claim, record] = await Promise.all([world.readClaim(sandbox), ledger.find(sandbox.name)]);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) {
    if (record === undefined) return undefined;
    assertSame(record.digest, digest);
    return answerOfRecord(deps, sandbox, record);
  }
  assertSame(claim.metadata.annotations?.[annotations.requestDigest], digest);
  if (claim.status?.completionTime === undefined) throw inProgress();
  return answerOf(deps, world.held(claim));
}

/** Of a sandbox that may be gone: tokens are derived, so that they are those of the first answer. */
function answerOfRecord(
  { tokenKey, settings }: Deps,
  { namespace, name }: Repeatable['sandbox'],
  { templateID, envdVersion, closed }: CreateRecord,
): SandboxAnswer {
  const subject = `${namespace}/${name}`;
  return {
    templateID,
    alias: templateID,
    sandboxID: name,
    clientID: 'sandlot',
    envdVersion,
    envdAccessToken: envdAccessToken(tokenKey, subject),
    trafficAccessToken: closed ? trafficAccessToken(tokenKey, subject) : null,
    domain: settings.SANDBOX_DOMAIN ?? null,
  };
}

function assertSame(first: string | undefined, digest: string): void {
  if (first === digest) return;
  const message = 'this Idempotency-Key was used for another request';
  throw new ApiError({ status: 422, message, errorCode: 'idempotency_request_mismatch' });
}

export function inProgress(): ApiError {
  const message = 'the first request of this Idempotency-Key is not finished';
  const headers = { 'Should-Retry': 'true', 'Retry-After': '1' };
  return new ApiError({ status: 409, message, errorCode: 'idempotency_in_progress', headers });
}
