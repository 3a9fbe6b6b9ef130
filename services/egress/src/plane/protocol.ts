import { z } from 'zod';
import type { PlaneSandbox, ProxyAddresses } from '../plan/plan.ts';

/** A line to the data plane (egress/README.md#the-socket). One with a number is confirmed. */
export type Message = { readonly n?: number } & (
  | ({ readonly type: 'reset'; readonly blocked: readonly string[] } & ProxyAddresses)
  | { readonly type: 'sandbox'; readonly address: string; readonly sandbox: PlaneSandbox }
  | { readonly type: 'gone'; readonly address: string }
  | { readonly type: 'synced' }
  | { readonly type: 'beat'; readonly ageMs: number | null }
);

/** A destination that a sandbox was refused, or would have been while it is observed, since the last report. */
export const refusedSchema = z.object({
  type: z.literal('refused'),
  namespace: z.string(),
  uid: z.string(),
  claimUid: z.string().default(''),
  protocol: z.string(),
  host: z.string(),
  port: z.number().default(0),
  reason: z.string(),
  count: z.number(),
  last: z.iso.datetime({ offset: true }),
});
export type Refused = z.output<typeof refusedSchema>;

/** A line from the data plane. */
export const answerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('applied'), n: z.number() }),
  refusedSchema,
]);
