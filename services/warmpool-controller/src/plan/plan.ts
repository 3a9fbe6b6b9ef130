import type { Sandbox, SandboxTemplate, SandboxWarmPoolStatus } from '@sandlot/api-types';
import type { JsonObject } from '@sandlot/kube';
import type { MemberCounts } from '../members/count-members.ts';
import type { Demand } from '../sizing/demand.ts';

/** A Kubernetes Event about the pool. */
export interface PoolEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** One step of a pass over a pool. `apply` carries the steps out in order. */
export type Step =
  /** The demands that autoscaling holds until the next pass. */
  | { readonly kind: 'recordDemands'; readonly demands: readonly Demand[] }
  | { readonly kind: 'updateMetrics'; readonly target: number; readonly counts: MemberCounts; readonly inUse: number }
  | ({ readonly kind: 'event' } & PoolEvent)
  /** Members ended soon after their creation: starts or extends the back-off of creations. */
  | { readonly kind: 'recordShortLived'; readonly message: string; readonly subject: string }
  /** Guarded by resourceVersion: a stray that another controller changed first is left alone. */
  | { readonly kind: 'takeOver'; readonly sandboxes: readonly Sandbox[] }
  /** Guarded by resourceVersion: an adoption in flight wins. */
  | { readonly kind: 'delete'; readonly members: readonly Sandbox[] }
  /** Creates members in waves that grow and stop at the first failure. */
  | {
      readonly kind: 'create';
      readonly count: number;
      readonly template: SandboxTemplate;
      /** Name of the golden snapshot from which they start; undefined: they boot. */
      readonly golden: string | undefined;
      /** Adoptions meanwhile stop the refill between two waves. */
      readonly yields: boolean;
      /** The pool is short of members: its creations do not queue behind background writes. */
      readonly isShort: boolean;
      /** What the creations are about, for the back-off after a failure. */
      readonly subject: string;
    }
  | {
      readonly kind: 'writeStatus';
      readonly status: SandboxWarmPoolStatus;
      /** The merge patch that leads there from the last status. */
      readonly patch: JsonObject;
      /** Monotonic; a later pass writes what is not due yet. Undefined for an urgent change. */
      readonly notBeforeMs: number | undefined;
    }
  | { readonly kind: 'requeue'; readonly afterMs: number; readonly reason: string };

export type Plan = readonly Step[];
