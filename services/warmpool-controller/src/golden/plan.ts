import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { PoolEvent } from '../plan/plan.ts';

/** One step towards the golden snapshot of a template. `apply` carries the steps out in order. */
export type GoldenStep =
  /** The Sandbox of which the snapshot is taken. */
  | { readonly kind: 'createSandbox' }
  /** Counts as an attempt: the next one waits. */
  | { readonly kind: 'createSnapshot'; readonly name: string }
  | { readonly kind: 'deleteSnapshot'; readonly snapshot: SandboxSnapshot }
  | {
      readonly kind: 'deleteSandbox';
      readonly sandbox: Sandbox;
      /** What came of it, recorded once it is deleted. */
      readonly report?: PoolEvent;
    }
  /** An attempt has failed before a snapshot was made: the next one waits. */
  | { readonly kind: 'recordAttempt'; readonly name: string }
  | { readonly kind: 'event'; readonly report: PoolEvent }
  | { readonly kind: 'requeue'; readonly afterMs: number; readonly reason: string };
