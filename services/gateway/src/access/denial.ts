import type { Refusal } from '../refusals/refusal.ts';

/** Why the sender of a request may not talk to a sandbox; undefined: the sender may. */
export type Denial = Extract<Refusal, { kind: 'unauthorised' | 'unsure' | 'limited' }> | undefined;
