import { annotations, isReservedKey, formatRfc3339 } from '@sandlot/api-types';
import type { SandboxClaim, SandboxClaimSpec } from '@sandlot/api-types';
import { omitUndefined } from '../api-v1/omit-undefined.ts';
import type { NewClaim } from '../api-v1/schemas.ts';
import { badRequest } from '../errors/api-error.ts';

export interface V1ClaimInput {
  readonly namespace: string;
  readonly keyId: string;
  readonly nowMs: number;
}

/** Builds the claim of `POST /api/v1/claims`. Throws an ApiError 400 for a reserved label. */
export function buildV1Claim(body: NewClaim, { namespace, keyId, nowMs }: V1ClaimInput): SandboxClaim {
  const { name, pool, template, replicas, labels = {}, timeoutSeconds } = body;
  const { claimTimeout, createOnNoStock, ttlSecondsAfterCompleted } = body;
  const reserved = Object.keys(labels).find(isReservedKey);
  if (reserved !== undefined) throw badRequest(`labels: "${reserved}" is set by the system`);
  const spec: SandboxClaimSpec = omitUndefined({
    warmPoolRef: buildReference(pool),
    sandboxTemplateRef: buildReference(template),
    replicas: replicas === 1 ? undefined : replicas,
    claimTimeout,
    createOnNoStock,
    ttlSecondsAfterCompleted,
    lifecycle: findLifecycle(timeoutSeconds, nowMs),
  });
  return { metadata: { namespace, name, labels, annotations: { [annotations.apiKeyId]: keyId } }, spec };
}

function buildReference(name: string | undefined): { readonly name: string } | undefined {
  return name === undefined ? undefined : { name };
}

function findLifecycle(seconds: number | undefined, nowMs: number): SandboxClaimSpec['lifecycle'] {
  if (seconds === undefined) return undefined;
  return { shutdownTime: formatRfc3339(nowMs + seconds * 1_000), shutdownPolicy: 'Delete' };
}
