import type { JsonObject, KubeObject, PersistentVolumeClaim, Pod, Service } from '@sandlot/kube';
import type { Phase } from './snapshot.ts';
import type { WakeRefusal } from '../wake/wake-refusals.ts';

/** A Kubernetes Event about the Sandbox. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export const warning = (reason: string, message: string): EventNote => ({ type: 'Warning', reason, message });

/** Something that a person would ask about and that no condition says. */
export interface Trouble {
  /** The same trouble of the same incarnation has the same key. */
  readonly key: string;
  readonly note: EventNote;
  /** Before this it is none yet, epoch milliseconds. */
  readonly dueMs?: number;
  /** It has happened, once: it is not told again. */
  readonly isPast?: boolean;
  /** The object whose own Events hold the reason; `otherwise` is told when they do not. Without either it is not told. */
  readonly reasonsOf?: KubeObject;
  readonly otherwise?: string;
}

/**
 * An effect on a child. Objects to create come complete, patches come as the JSON that is sent (guarded by the UID of the
 * object they were decided on), deletes name the incarnation they mean. `phase` is what a failure counts against.
 */
export type ChildStep = { readonly phase: Phase } & (
  | { readonly kind: 'createClaim' | 'deleteClaim'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'patchClaim'; readonly claim: PersistentVolumeClaim; readonly patch: JsonObject }
  | { readonly kind: 'createPod' | 'deletePod'; readonly pod: Pod }
  | {
      readonly kind: 'patchPod';
      readonly pod: Pod;
      readonly patch: JsonObject;
      /** Also makes this the image of the first container. */
      readonly image?: string;
    }
  | { readonly kind: 'createService' | 'deleteService'; readonly service: Service }
  | { readonly kind: 'patchService'; readonly service: Service; readonly patch: JsonObject }
);

/** An effect on the Sandbox. */
export type SandboxStep =
  /** Merge patch of the Sandbox itself, never of its status. */
  | { readonly kind: 'patchSandbox'; readonly patch: JsonObject }
  /** Merge patch that suspends the Sandbox; its guard fails it when anything was edited meanwhile. */
  | { readonly kind: 'suspendSandbox'; readonly patch: JsonObject }
  /** Merge patch that answers a request to wake the Sandbox; guarded alike. */
  | { readonly kind: 'resumeSandbox'; readonly patch: JsonObject }
  /** One merge patch of the status. */
  | { readonly kind: 'patchStatus'; readonly patch: JsonObject }
  /** `note` is recorded once it is done. */
  | { readonly kind: 'deleteSandbox'; readonly phase: Phase; readonly note?: EventNote };

/** An effect on no object. */
export type InformingStep =
  /** Drops a request to wake the Sandbox. */
  | { readonly kind: 'refuseWake'; readonly why: WakeRefusal }
  | { readonly kind: 'recordEvent'; readonly note: EventNote }
  /** An Event once in a while, however often it is decided. */
  | { readonly kind: 'tell'; readonly trouble: Trouble };

export type Step =
  | ChildStep
  | SandboxStep
  /** Reports what must not be done; the text is part of the API contract. */
  | { readonly kind: 'refuse'; readonly phase: Phase; readonly message: string }
  | InformingStep
  /** Ends the pass; the next one starts at once from a fresh observation. */
  | { readonly kind: 'lookAgain' };

/** Steps in the order they are applied. Empty: nothing is left to do. */
export type Plan = readonly Step[];
