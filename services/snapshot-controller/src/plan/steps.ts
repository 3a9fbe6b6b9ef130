import type { SandboxSnapshotStatus, SandboxTemplate } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import type { RestoreRequest, SaveRequest } from '../agent/messages.ts';

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
  | { readonly kind: 'status'; readonly status: SandboxSnapshotStatus }
  | { readonly kind: 'save'; readonly nodeName: string; readonly request: SaveRequest }
  /** `from`: UID of the SandboxSnapshot whose data the node copies. */
  | { readonly kind: 'copy'; readonly nodeName: string; readonly from: string }
  | { readonly kind: 'erase'; readonly nodeName: string }
  | { readonly kind: 'restore'; readonly nodeName: string; readonly request: RestoreRequest }
  | { readonly kind: 'withdraw'; readonly nodeName: string; readonly podUID: string }
  /** Tells the author of a Pod why it is not restored. */
  | { readonly kind: 'refuse'; readonly pod: Pod; readonly message: string };

export interface Plan {
  readonly steps: readonly Step[];
  /** When the next pass is due even if nothing changes; epoch milliseconds. */
  readonly nextMs?: number | undefined;
}

export const NOTHING: Plan = { steps: [] };
