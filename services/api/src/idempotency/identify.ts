import { createHash } from 'node:crypto';
import type { ObjectKey } from '@sandlot/kube';
import { createSandboxId, deriveSandboxId } from '@sandlot/tenancy';
import type { ApiKey, TokenKeys } from '@sandlot/tenancy';

export interface CreateIdentity {
  readonly sandbox: ObjectKey & { readonly namespace: string };
  /** Digest of the request's body; undefined without an Idempotency-Key. */
  readonly digest: string | undefined;
}

interface IdentityInput {
  readonly key: ApiKey;
  readonly idempotencyKey: string | undefined;
  readonly body: unknown;
}

/**
 * Chooses the id of a new sandbox: random, or derived from the Idempotency-Key. A repeated create has the same id, so its claim
 * already exists (docs/reference/e2b-api.md#conventions).
 */
export function identifyCreate({ ofRepeats }: TokenKeys, { key, idempotencyKey, body }: IdentityInput): CreateIdentity {
  const { namespace } = key;
  if (idempotencyKey === undefined) return { sandbox: { namespace, name: createSandboxId() }, digest: undefined };
  const name = deriveSandboxId(ofRepeats, `${namespace}/${key.team}`, idempotencyKey);
  // The salt keeps the digest from revealing the request: its secrets may be short enough to guess.
  const digest = createHash('sha256').update(ofRepeats).update(formatCanonicalJson(body)).digest('hex');
  return { sandbox: { namespace, name }, digest };
}

/** JSON with sorted members, so that equal bodies have equal digests. */
function formatCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
