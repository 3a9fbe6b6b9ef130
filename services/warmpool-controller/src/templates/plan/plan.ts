import type { JsonObject, NetworkPolicy } from '@sandlot/kube';
import type { OwnPolicy } from '../network/policy.ts';

/** What a pass does about a NetworkPolicy, or why it does nothing. */
export type PolicyStep =
  | { readonly kind: 'create'; readonly wanted: OwnPolicy }
  /** Guarded by resourceVersion: another change meanwhile fails it, and a later pass looks again. */
  | { readonly kind: 'replace'; readonly present: NetworkPolicy; readonly wanted: OwnPolicy }
  /** Replaces labels, annotations and owners alone, guarded alike: the API server refuses the rules. */
  | { readonly kind: 'mark'; readonly present: NetworkPolicy; readonly wanted: OwnPolicy }
  | { readonly kind: 'delete'; readonly present: NetworkPolicy }
  | { readonly kind: 'keep'; readonly because: 'applied' | 'unmanaged' | 'refused' }
  /** A policy of that name that is not ours. */
  | { readonly kind: 'leave'; readonly present: NetworkPolicy }
  /** Ours and terminating: the watch shows when it is gone and can be created again. */
  | { readonly kind: 'await' };

/** How a pass left the NetworkPolicy of a template; the status reports it. */
export type PolicyOutcome =
  | { readonly kind: 'applied' | 'unmanaged' | 'notControlled' }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** Not known before another pass; the status keeps what it says. */
  | { readonly kind: 'pending' };

/** The writes of a pass over a template that do not depend on how the policy step ended. */
export interface TemplatePlan {
  readonly policy: PolicyStep;
  /** Merge patch of the template's metadata; undefined when it has its label. */
  readonly label: JsonObject | undefined;
}

/** The write of the status after the policy step. */
export interface StatusStep {
  /** Merge patch of `status`. */
  readonly patch: JsonObject;
  /** Monotonic; a later pass writes what is not due yet. Undefined when more than counts of pools changed. */
  readonly notBeforeMs: number | undefined;
  /** Warning Event once the status is written: the policy's name turned out to be taken. */
  readonly warning: string | undefined;
}
