import type { ObjectMeta } from '@sandlot/kube/objects';
import { z } from 'zod';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from './objects.ts';
import { sandboxClaimSpec, sandboxClaimStatus } from './schema/claim.ts';
import { sandboxSpec, sandboxStatus } from './schema/sandbox.ts';
import { sandboxTemplateSpec, sandboxTemplateStatus } from './schema/template.ts';
import { sandboxWarmPoolSpec, sandboxWarmPoolStatus } from './schema/warmpool.ts';

/** Kinds and metadata belong to the API server; only that metadata is an object is checked. */
const envelope = {
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: z.custom<ObjectMeta>((value) => typeof value === 'object' && value !== null, 'expected an object'),
};

const sandbox = z.object({ ...envelope, spec: sandboxSpec, status: sandboxStatus.optional() });
const claim = z.object({ ...envelope, spec: sandboxClaimSpec, status: sandboxClaimStatus.optional() });
const template = z.object({ ...envelope, spec: sandboxTemplateSpec, status: sandboxTemplateStatus.optional() });
const pool = z.object({ ...envelope, spec: sandboxWarmPoolSpec, status: sandboxWarmPoolStatus.optional() });

/**
 * A Sandbox from outside (a file, a request body): unknown fields pruned, defaults filled in, as the API server does.
 * Rules across fields are the API server's. Throws ZodError.
 */
export function parseSandbox(value: unknown): Sandbox {
  return sandbox.parse(value);
}

/** As {@link parseSandbox}, for a SandboxClaim. */
export function parseSandboxClaim(value: unknown): SandboxClaim {
  return claim.parse(value);
}

/** As {@link parseSandbox}, for a SandboxTemplate. */
export function parseSandboxTemplate(value: unknown): SandboxTemplate {
  return template.parse(value);
}

/** As {@link parseSandbox}, for a SandboxWarmPool. */
export function parseSandboxWarmPool(value: unknown): SandboxWarmPool {
  return pool.parse(value);
}
