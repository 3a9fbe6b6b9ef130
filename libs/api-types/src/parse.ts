import type { ObjectMeta } from '@sandlot/kube/objects';
import { z } from 'zod';
import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from './objects.ts';
import { sandboxClaimSpec, sandboxClaimStatus } from './schema/claim.ts';
import { sandboxSpec, sandboxStatus } from './schema/sandbox.ts';
import { sandboxTemplateSpec, sandboxTemplateStatus } from './schema/template.ts';
import { sandboxWarmPoolSpec, sandboxWarmPoolStatus } from './schema/warmpool.ts';

/** The API server checks kinds and metadata; here metadata only has to be an object. */
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
 * Parses a Sandbox from outside (a file, a request body). It prunes unknown fields and fills in defaults as the API server
 * does, and leaves rules across fields to the API server. Throws ZodError.
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
