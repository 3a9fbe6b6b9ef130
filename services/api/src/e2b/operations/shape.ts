// What the descriptions of several E2B operations share.
import { z } from 'zod';
import type { AnswerSpec, TenantCall } from '../../http/route.ts';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import { sandboxAnswer } from '../answer/schemas.ts';
import { sandboxId } from '../request/schemas.ts';

export const TAG = 'E2B sandboxes';
/** For operations on one sandbox. */
export const oneSandbox = { params: sandboxId, tag: TAG } as const;
export type SandboxCall<B = unknown, H = unknown> = TenantCall<{
  params: z.output<typeof sandboxId>;
  query: unknown;
  headers: H;
  body: B;
}>;

export const done: Readonly<Record<number, AnswerSpec>> = { 204: { description: 'Done.' } };

/** The answer of a create, and of a resume by very old clients. */
export const created: AnswerSpec = {
  description: 'The sandbox runs and its daemon answers.',
  schema: sandboxAnswer,
  headers: z.object({
    'RateLimit-Limit': z.int().optional().meta({ description: 'Creates that may come at once.' }),
    'RateLimit-Remaining': z.int().optional(),
    'RateLimit-Reset': z.int().optional().meta({ description: 'Seconds until all may come again.' }),
  }),
};

/** Names the sandbox of a request in its audit record. */
export function nameInAudit({ trail }: Pick<TenantCall, 'trail'>, { claim }: ClaimedSandbox): void {
  const { name = '', uid = '' } = claim.metadata;
  trail.about({ name, uid });
}
