import type { JsonObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import type { Phase } from './snapshot.ts';

/** A Kubernetes Event about the Sandbox. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/**
 * An effect on a child. Objects to create come complete, patches come as the JSON that is sent (guarded by the UID of the
 * object they were decided on), deletes name the incarnation they mean. `phase` is what a failure counts against.
 */
export type ChildStep = { readonly phase: Phase } & (
  | { readonly kind: 'createClaim' | 'deleteClaim'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'patchClaim'; readonly claim: PersistentVolumeClaim; readonly patch: JsonObject }
  | { readonly kind: 'createPod' | 'deletePod'; readonly pod: Pod }
  | { readonly kind: 'patchPod'; readonly pod: Pod; readonly patch: JsonObject }
  | { readonly kind: 'createService' | 'deleteService'; readonly service: Service }
  | { readonly kind: 'patchService'; readonly service: Service; readonly patch: JsonObject }
);

/** An effect on the Sandbox. */
export type SandboxStep =
  /** Merge patch of the Sandbox itself, never of its status. */
  | { readonly kind: 'patchSandbox'; readonly patch: JsonObject }
  /** Merge patch that suspends the Sandbox; its guard fails it when anything was edited meanwhile. */
  | { readonly kind: 'suspendSandbox'; readonly patch: JsonObject }
  /** One merge patch of the status. */
  | { readonly kind: 'patchStatus'; readonly patch: JsonObject }
  /** `note` is recorded once it is done. */
  | { readonly kind: 'deleteSandbox'; readonly phase: Phase; readonly note?: EventNote };

export type Step =
  | ChildStep
  | SandboxStep
  /** Reports what must not be done; the text is part of the API contract. */
  | { readonly kind: 'refuse'; readonly phase: Phase; readonly message: string }
  | { readonly kind: 'recordEvent'; readonly note: EventNote }
  /** Ends the pass; the next one starts at once from a fresh observation. */
  | { readonly kind: 'lookAgain' };

/** Steps in the order they are applied. Empty: nothing is left to do. */
export type Plan = readonly Step[];
