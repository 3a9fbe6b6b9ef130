import type { Sandbox, SandboxTemplate, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { Demand } from '../sizing/autoscale.ts';
import type { Census } from '../members/count-members.ts';

/** A Kubernetes Event about the pool. */
export interface Note {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** One thing a pass over a pool does. `apply` carries steps out in order. */
export type Step =
  /** What autoscaling holds until the next look. */
  | { readonly kind: 'remember'; readonly demands: readonly Demand[] }
  | { readonly kind: 'measure'; readonly target: number; readonly census: Census; readonly claimed: number }
  | ({ readonly kind: 'note' } & Note)
  /** Members that ended soon after they were made: the next ones wait. */
  | { readonly kind: 'blame'; readonly message: string; readonly subject: string }
  /** Guarded by resourceVersion: whoever takes the Sandbox first has it. */
  | { readonly kind: 'takeOver'; readonly sandboxes: readonly Sandbox[] }
  /** Make this many members, in growing waves that stop at the first failure. */
  | {
      readonly kind: 'create';
      readonly count: number;
      readonly template: SandboxTemplate;
      /** Claims that come meanwhile stop it between two waves. */
      readonly yields: boolean;
      /** The pool is short of members: their creation waits for nobody's writes. */
      readonly isShort: boolean;
      readonly subject: string;
    }
  /** Guarded by resourceVersion, so that an adoption in flight wins. */
  | { readonly kind: 'delete'; readonly members: readonly Sandbox[] }
  /** An urgent one is not held back for the sake of few writes. */
  | { readonly kind: 'writeStatus'; readonly status: SandboxWarmPoolStatus; readonly urgent: boolean }
  | { readonly kind: 'wait'; readonly ms: number; readonly reason: string };

export type Plan = readonly Step[];
