import type { KeyObject } from 'node:crypto';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { JsonObject, KubeObject, PersistentVolumeClaim, Pod, Secret, Service } from '@sandlot/kube';
import type { WakeAnswer } from '../wake/wake-answers.ts';
import type { Phase } from './snapshot.ts';

/** A Kubernetes Event about the Sandbox. */
export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export const formatWarning = (reason: string, message: string): EventNote => ({ type: 'Warning', reason, message });

/** A problem that a person would ask about and that no condition shows. */
export interface Trouble {
  /** Stays the same while the same trouble of the same object lasts. */
  readonly key: string;
  readonly note: EventNote;
  /** Epoch milliseconds; before this time it is not a trouble yet. */
  readonly dueMs?: number;
  /** It happened once and is reported once. */
  readonly isPast?: boolean;
  /** The object whose own Events hold the cause; `otherwise` is reported when they do not. Without either nothing is. */
  readonly causedBy?: KubeObject;
  readonly otherwise?: string;
}

/**
 * A write to a child. Objects to create come complete. Patches are the JSON that is sent and name the UID of the object
 * they were decided on. Deletes name the incarnation they mean. A failure counts against `phase`.
 */
export type ChildStep = { readonly phase: Phase } & (
  | { readonly kind: 'createDisk' | 'deleteDisk'; readonly disk: PersistentVolumeClaim }
  | { readonly kind: 'patchDisk'; readonly disk: PersistentVolumeClaim; readonly patch: JsonObject }
  /** Puts the key into the Secret. One that exists counts as created. The key does not print, as part of a Secret it would. */
  | { readonly kind: 'createKeySecret'; readonly secret: Secret; readonly privateKey: KeyObject }
  | { readonly kind: 'createPod'; readonly pod: Pod }
  /** A Pod that stands still since it was saved can use no time to end. */
  | { readonly kind: 'deletePod'; readonly pod: Pod; readonly isFrozen?: boolean }
  | {
      readonly kind: 'patchPod';
      readonly pod: Pod;
      readonly patch: JsonObject;
      /** Also makes this the image of the first container. */
      readonly image?: string;
    }
  /** Gives the first container the CPU that this text of the annotation names. */
  | { readonly kind: 'resizePod'; readonly pod: Pod; readonly cpu: string }
  /** `pod` is the Pod to save; a copy has none. */
  | { readonly kind: 'createHibernation'; readonly hibernation: SandboxSnapshot; readonly pod?: Pod }
  /** Guarded by resourceVersion: a save that is complete at this moment must be seen first. */
  | { readonly kind: 'deleteHibernation'; readonly hibernation: SandboxSnapshot }
  | { readonly kind: 'createService' | 'deleteService'; readonly service: Service }
  | { readonly kind: 'patchService'; readonly service: Service; readonly patch: JsonObject }
);

/** A write to the Sandbox. */
export type SandboxStep =
  /** Merge patch of the Sandbox itself, never of its status. */
  | { readonly kind: 'patchSandbox'; readonly patch: JsonObject }
  /** Merge patch that suspends the Sandbox, guarded by resourceVersion: an edit made meanwhile makes it fail. */
  | { readonly kind: 'suspendSandbox'; readonly patch: JsonObject }
  /** Merge patch that resumes the Sandbox because of a request to wake it; guarded alike. */
  | { readonly kind: 'resumeSandbox'; readonly patch: JsonObject }
  /** Merge patch that records how far the start from a snapshot has come; guarded alike. */
  | { readonly kind: 'recordStart'; readonly patch: JsonObject }
  /** One merge patch of the status. */
  | { readonly kind: 'patchStatus'; readonly patch: JsonObject }
  /** Guarded by resourceVersion. `note` is recorded once the deletion is accepted. */
  | { readonly kind: 'deleteSandbox'; readonly phase: Phase; readonly note?: EventNote };

/** `moved`: the Sandbox left its node with its memory. `unsaved`: that could not be saved. */
export type MoveResult = 'moved' | 'unsaved';

/** A step that writes no object but Events. */
export type ReportStep =
  /** Ends a request to wake the Sandbox. */
  | { readonly kind: 'answerWake'; readonly answer: WakeAnswer }
  /** `isLoss`: the Event says what is lost for good. The status says so first. */
  | { readonly kind: 'recordEvent'; readonly note: EventNote; readonly isLoss?: boolean }
  /** Counts a Sandbox that left its node with its memory, or that cannot. */
  | { readonly kind: 'countMove'; readonly result: MoveResult }
  /** Records an Event for a trouble, and remembers that it has one. */
  | { readonly kind: 'reportTrouble'; readonly trouble: Trouble };

export type Step =
  | ChildStep
  | SandboxStep
  | ReportStep
  /** Fails `phase` with a message for the owner: the controller must not do what the Sandbox asks for. */
  | { readonly kind: 'reportFailure'; readonly phase: Phase; readonly message: string }
  /** Ends the pass; the next one starts at once from a fresh observation. */
  | { readonly kind: 'requeueNow' };

/** Steps in the order in which they are applied. Empty: nothing is left to do. */
export type Plan = readonly Step[];
