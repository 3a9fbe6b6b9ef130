import type { SandboxSnapshotStatus, SandboxTemplate } from '@sandlot/api-types';
import type { PersistentVolumeClaim, Pod } from '@sandlot/kube';
import type { RemoteData, RestoreRequest, SaveRequest } from '../agent/messages.ts';

/** Annotations as they have to be; null: absent. */
export type Notes = Readonly<Record<string, string | null>>;

/** What to do. The steps of a plan are taken in order, and the first failure ends the pass. */
export type Step =
  /**
   * Sets the finalizer, and annotations; null removes one. It comes before the first call: from then on a node may have data.
   */
  | { readonly kind: 'hold'; readonly annotations: Notes }
  /** Removes the finalizer. */
  | { readonly kind: 'release' }
  /** Deletes the object. */
  | { readonly kind: 'delete' }
  /** Creates the template whose Sandboxes start from the snapshot. */
  | { readonly kind: 'template'; readonly template: SandboxTemplate }
  /** Creates the copy of a disk, or deletes this incarnation of it. */
  | { readonly kind: 'createDisk' | 'deleteDisk'; readonly disk: PersistentVolumeClaim }
  | { readonly kind: 'status'; readonly status: SandboxSnapshotStatus }
  | { readonly kind: 'save'; readonly nodeName: string; readonly request: SaveRequest }
  /** `from`: UID of the SandboxSnapshot whose data the node copies. */
  | { readonly kind: 'copy'; readonly nodeName: string; readonly from: string }
  /** Lets a Pod go on that stands still since its save. */
  | { readonly kind: 'endHold'; readonly nodeName: string }
  /** `staysPaused`: a Pod that stands still for the data there does not go on. */
  | { readonly kind: 'erase'; readonly nodeName: string; readonly staysPaused: boolean }
  | { readonly kind: 'upload'; readonly nodeName: string }
  /** Removes what the bucket has, through the agent of this node. */
  | { readonly kind: 'eraseRemote'; readonly nodeName: string }
  /** `remote`: the node does not have the data, and downloads it first. */
  | {
      readonly kind: 'restore';
      readonly nodeName: string;
      readonly request: RestoreRequest;
      readonly remote?: RemoteData | undefined;
      /** Trace context of the resume. Absent: that of the SandboxSnapshot. */
      readonly trace?: string | undefined;
    }
  | { readonly kind: 'withdraw'; readonly nodeName: string; readonly podUID: string }
  /** Tells the author of a Pod why it is not restored. */
  | { readonly kind: 'refuse'; readonly pod: Pod; readonly message: string };

export interface Plan {
  readonly steps: readonly Step[];
  /** When the next pass is due even if nothing changes; epoch milliseconds. */
  readonly nextMs?: number | undefined;
}

export const NOTHING: Plan = { steps: [] };

/** The steps in this order, and the first of the times. */
export function combine(...plans: readonly Plan[]): Plan {
  const dueMs = plans.flatMap(({ nextMs }) => nextMs ?? []);
  const steps = plans.flatMap((plan) => plan.steps);
  return dueMs.length === 0 ? { steps } : { steps, nextMs: Math.min(...dueMs) };
}
