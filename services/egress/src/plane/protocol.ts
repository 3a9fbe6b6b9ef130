import { z } from 'zod';
import type { PlaneSandbox, ProxyAddresses } from '../plan/plan.ts';

/** A line to the data plane (egress/README.md#the-socket). One with a number is confirmed. */
export type Message = { readonly n?: number } & (
  | ({ readonly type: 'reset'; readonly blocked: readonly string[] } & ProxyAddresses)
  | { readonly type: 'sandbox'; readonly address: string; readonly sandbox: PlaneSandbox }
  | { readonly type: 'gone'; readonly address: string }
  | { readonly type: 'value'; readonly ref: string; readonly value: string | null }
  | { readonly type: 'synced' }
  | { readonly type: 'beat'; readonly ageMs: number | null }
);

/** The longest text of a DNS name, with each of its bytes as `\DDD`. */
const MAX_HOST = 1_024;
const MAX_WORD = 64;
const MAX_PORT = 65_535;

/** A destination that a sandbox was refused, or would have been while it is observed, since the last report. */
export const refusedSchema = z.object({
  type: z.literal('refused'),
  namespace: z.string(),
  uid: z.string(),
  claimUid: z.string().default(''),
  protocol: z.string().max(MAX_WORD),
  host: z.string().max(MAX_HOST),
  port: z.int().min(0).max(MAX_PORT).default(0),
  reason: z.string().max(MAX_WORD),
  count: z.int().positive(),
  last: z.iso.datetime({ offset: true }),
});
export type Refused = z.output<typeof refusedSchema>;

/** A line from the data plane. */
export const answerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('applied'), n: z.number() }),
  refusedSchema,
]);
