import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { ColdStartInput } from '@sandlot/blueprint';
import type { Report } from './report.ts';
import type { Uninitialised } from '../runtime/start.ts';
import type { WantedPolicy } from '../network/wanted-policy.ts';

/** One thing a pass does. `apply` carries steps out in order. */
export type Step =
  /** Commit a warm Sandbox to the claim and publish it; without a candidate left, do `otherwise`. */
  | {
      readonly kind: 'adopt';
      readonly pools: readonly SandboxWarmPool[];
      /** To be tried before all others. */
      readonly promised?: Promised | undefined;
      readonly template: SandboxTemplate;
      readonly otherwise: Shortage;
    }
  | Shortage
  /** Tell the daemons in these Sandboxes whom they serve: what fails is tried again by a later pass. */
  | { readonly kind: 'initRuntimes'; readonly due: readonly Uninitialised[] }
  /** Show this Sandbox in the claim's status; if the claim shows another one, the rest of the plan no longer holds. */
  | { readonly kind: 'publish'; readonly sandbox: Sandbox }
  /** Write the bookkeeping annotations behind, off the latency path. */
  | { readonly kind: 'annotate'; readonly sandbox: Sandbox }
  /** Bring the pod metadata of a bound Sandbox in line with template and claim. */
  | { readonly kind: 'syncMetadata'; readonly sandbox: Sandbox; readonly template: SandboxTemplate }
  /** The same for Sandboxes of a detached claim. */
  | { readonly kind: 'syncSlots'; readonly live: readonly Sandbox[]; readonly template: SandboxTemplate }
  /** The Sandbox is not what was asked for, in time: it goes, or is kept for whoever wants to know why. */
  | { readonly kind: 'failDelivery'; readonly sandbox: Sandbox; readonly message: string }
  | { readonly kind: 'deleteSandbox'; readonly sandbox: Sandbox }
  | {
      readonly kind: 'deleteClaim';
      readonly policy: 'Delete' | 'DeleteForeground';
      /** Field of the spec that says so. */
      readonly cause: 'shutdownPolicy' | 'ttlSecondsAfterCompleted';
    }
  /** The claim's time is over, and its Sandbox is to be paused then. */
  | { readonly kind: 'pause'; readonly sandbox: Sandbox; readonly endedAtMs: number }
  /** A paused Sandbox was woken: its time ends later. */
  | { readonly kind: 'prolong'; readonly endAtMs: number }
  /** A paused Sandbox is kept until then. */
  | { readonly kind: 'retain'; readonly shutdownAtMs: number }
  /** Write the policies that hold the claim's own egress rules. */
  | { readonly kind: 'secureNetwork'; readonly policies: readonly WantedPolicy[] }
  /** Note on the claim which of its changed rules hold. */
  | { readonly kind: 'tellNetwork'; readonly applied: string }
  | { readonly kind: 'report'; readonly report: Report }
  /** The claim has ended: Ready False, and `sandbox` cleared when nothing is left of it. */
  | { readonly kind: 'expire'; readonly message: string; readonly first: boolean; readonly sandboxGone: boolean }
  /** Fill slots of a detached claim, many at a time, and show what was delivered wave by wave. */
  | {
      readonly kind: 'fillSlots';
      readonly slots: readonly number[];
      readonly pools: readonly SandboxWarmPool[];
      readonly template: SandboxTemplate;
      readonly otherwise: SlotShortage;
    }
  /** Show the Sandboxes of a detached claim; those that it will never show go. */
  | { readonly kind: 'publishSlots'; readonly timedOut: boolean; readonly report?: Report }
  | { readonly kind: 'wait'; readonly ms: number; readonly reason: string };

/** A member that the claim was promised, and the pools one of which must own it. */
export interface Promised {
  readonly member: Sandbox;
  readonly pools: readonly SandboxWarmPool[];
}

/** What to do when no warm Sandbox can be had. */
export type Shortage =
  | { readonly kind: 'create'; readonly sandbox: Sandbox }
  /** Be woken by the next candidate of these pools, and look again after `retryMs` in any case. */
  | {
      readonly kind: 'queueForStock';
      readonly pools: readonly SandboxWarmPool[];
      readonly retryMs: number;
      readonly report?: Report | undefined;
    };

/** What to do for a slot when no warm Sandbox can be had. */
export type SlotShortage =
  | { readonly kind: 'createSlot'; readonly input: ColdStartInput }
  | Extract<Shortage, { readonly kind: 'queueForStock' }>;

export type Plan = readonly Step[];

/** The step that looks again. */
export function wait(ms: number, reason: string): Step {
  return { kind: 'wait', ms, reason };
}
