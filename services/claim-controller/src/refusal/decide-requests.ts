import { claimMessages, claimReasons, isMadeByApi } from '@sandlot/api-types';
import { wait } from '../plan/plan.ts';
import type { Plan, Step } from '../plan/plan.ts';
import type { ClaimSnapshot, SecretFinding } from '../plan/snapshot.ts';

/** Steps that request from the API server what the claim and its template say. */
const REQUESTS: ReadonlySet<Step['kind']> = new Set(['adopt', 'create', 'fillSlots', 'syncMetadata', 'syncSlots']);

/** Secrets are not watched. */
const SECRET_RETRY_MS = 10_000;
/** The API creates a claim first and its Secret right after: for so long a missing one is on its way, and not reported. */
const API_SECRET_MS = 5_000;
const API_SECRET_RETRY_MS = 5;

/** Whether the plan sends a request that depends on the claim's Secrets and that the API server may refuse. */
export function isRequest(plan: Plan): boolean {
  return plan.some(({ kind }) => REQUESTS.has(kind));
}

/** Lets the plan's requests through, unless a Secret cannot be used or the API server refused this very request before. */
export function decideRequests(snapshot: ClaimSnapshot, plan: Plan): Plan {
  const { secretFinding, refusedRequest } = snapshot;
  if (secretFinding !== undefined && isRequest(plan)) return decideSecretReport(snapshot, secretFinding);
  if (refusedRequest === undefined || refusedRequest !== formatRequest(snapshot)) return plan;
  return plan.filter(({ kind }) => !REQUESTS.has(kind));
}

function decideSecretReport({ claim, knownForMs }: ClaimSnapshot, { message, isMissing, reason }: SecretFinding): Plan {
  if (isMissing && isMadeByApi(claim) && knownForMs < API_SECRET_MS) {
    return [wait(API_SECRET_RETRY_MS, 'the Secret of a claim is on its way')];
  }
  const report =
    reason === undefined
      ? { reason: claimReasons.reconcilerError, message: claimMessages.error(message) }
      : { reason, message: claimMessages.egressSecret(message) };
  return [{ kind: 'report', report }, wait(SECRET_RETRY_MS, 'a Secret may not be used')];
}

/** Identifies what a pass requests: it changes when claim or template change, or when the claim loses its Sandbox. */
export function formatRequest({ claim, source, owned }: ClaimSnapshot): string {
  const template = source.kind === 'found' ? source.template.metadata : {};
  return JSON.stringify([claim.metadata.generation, template.uid, template.generation, owned.length]);
}
