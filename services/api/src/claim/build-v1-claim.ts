import { isReservedKey, formatRfc3339 } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import { buildKeyAnnotations } from './annotations.ts';
import { omitUndefined } from '../api-v1/omit-undefined.ts';
import type { NewClaim } from '../api-v1/schemas.ts';
import type { Allowance } from '../limits/allowance.ts';
import { badRequest } from '../errors/api-error.ts';

export interface V1ClaimInput {
  readonly namespace: string;
  readonly keyId: string;
  readonly allowance: Pick<Allowance, 'sandboxes' | 'maxTimeoutSeconds' | 'neverTimeout'>;
  readonly nowMs: number;
}

const NO_TTL =
  'ttlSecondsAfterCompleted: an API key has no other handle on the sandboxes than the claim; leave it out, and set timeoutSeconds or delete the claim';

/**
 * Builds the claim of `POST /api/v1/claims`. Without a timeout its sandboxes live as long as the key allows. Throws an ApiError
 * 400 for a reserved label, a timeout above the limit, or a claim that would go before its sandboxes.
 */
export function buildV1Claim(body: NewClaim, { namespace, keyId, allowance, nowMs }: V1ClaimInput): SandboxClaim {
  const { name, pool, template, replicas, labels = {} } = body;
  const { claimTimeout, createOnNoStock } = body;
  if (body.ttlSecondsAfterCompleted !== undefined) throw badRequest(NO_TTL);
  const reserved = Object.keys(labels).find(isReservedKey);
  if (reserved !== undefined) throw badRequest(`labels: "${reserved}" is set by the system`);
  const spec: SandboxClaimSpec = omitUndefined({
    warmPoolRef: buildReference(pool),
    sandboxTemplateRef: buildReference(template),
    replicas: replicas === 1 ? undefined : replicas,
    claimTimeout,
    createOnNoStock,
    lifecycle: findLifecycle(findTimeout(body, allowance), nowMs),
  });
  return { metadata: { namespace, name, labels, annotations: buildKeyAnnotations(keyId, allowance.sandboxes) }, spec };
}

function buildReference(name: string | undefined): { readonly name: string } | undefined {
  return name === undefined ? undefined : { name };
}

function findTimeout({ timeoutSeconds }: NewClaim, allowance: V1ClaimInput['allowance']): number | undefined {
  const { maxTimeoutSeconds: max, neverTimeout } = allowance;
  if (max > 0 && (timeoutSeconds ?? 0) > max) throw badRequest(`timeoutSeconds: expected at most ${max}`);
  return timeoutSeconds ?? (neverTimeout || max === 0 ? undefined : max);
}

function findLifecycle(seconds: number | undefined, nowMs: number): SandboxClaimSpec['lifecycle'] {
  if (seconds === undefined) return undefined;
  return { shutdownTime: formatRfc3339(nowMs + seconds * 1_000), shutdownPolicy: 'Delete' };
}
