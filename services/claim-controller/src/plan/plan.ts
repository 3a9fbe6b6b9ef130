import type { Sandbox, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { ColdStartInput } from '@sandlot/blueprint';
import type { WantedPolicy } from '../network/snapshot-network.ts';
import type { Uninitialised } from '../runtime/initialisation.ts';
import type { Report } from './report.ts';

/** One thing a pass does. `apply` carries the steps out in order. */
export type Step =
  /** Adopt a warm Sandbox (W1) and do `then` with it; when no candidate is left, do `otherwise`. */
  | {
      readonly kind: 'adopt';
      readonly pools: readonly SandboxWarmPool[];
      /** Tried before all others. */
      readonly promised?: Promised | undefined;
      readonly template: SandboxTemplate;
      readonly then: readonly AfterCommit[];
      readonly otherwise: Shortage;
    }
  | Shortage
  /** Take places of the claim's API key; if another claim took them meanwhile, the rest of the plan no longer holds. */
  | { readonly kind: 'admit' }
  /** Initialise the daemons in these Sandboxes. A later pass retries those that fail. */
  | { readonly kind: 'initRuntimes'; readonly due: readonly Uninitialised[] }
  /** Show this Sandbox in the claim's status (W2); if the claim shows another one, the rest of the plan no longer holds. */
  | { readonly kind: 'publish'; readonly sandbox: Sandbox }
  /** Show the Sandbox in a later pass, after `ms` at the latest. */
  | { readonly kind: 'hold'; readonly ms: number }
  /** Write the bookkeeping annotations later, off the latency path. */
  | { readonly kind: 'annotate'; readonly sandbox: Sandbox }
  /** Bring the pod metadata of a bound Sandbox in line with template and claim. */
  | { readonly kind: 'syncMetadata'; readonly sandbox: Sandbox; readonly template: SandboxTemplate }
  /** The same for Sandboxes of a detached claim. */
  | { readonly kind: 'syncSlots'; readonly live: readonly Sandbox[]; readonly template: SandboxTemplate }
  /** Remember since when the time of these Sandboxes to become ready runs. */
  | { readonly kind: 'startTime'; readonly sandboxes: readonly Sandbox[]; readonly atMs: number }
  /** The Sandbox was not ready in time: delete it, or keep it for troubleshooting, and count the failure. */
  | {
      readonly kind: 'giveUp';
      readonly sandbox: Sandbox;
      readonly message: string;
      /** Its daemon trusts another key than the installation's. */
      readonly isRefused?: boolean | undefined;
    }
  | { readonly kind: 'deleteSandbox'; readonly sandbox: Sandbox }
  | {
      readonly kind: 'deleteClaim';
      readonly policy: 'Delete' | 'DeleteForeground';
      /** Field of the spec that asks for it. */
      readonly cause: 'shutdownPolicy' | 'ttlSecondsAfterCompleted';
    }
  /** The claim's time is over, and its Sandbox is to be paused then. */
  | { readonly kind: 'pause'; readonly sandbox: Sandbox; readonly endedAtMs: number }
  /** A request woke a paused Sandbox: its time ends later. */
  | { readonly kind: 'prolong'; readonly endAtMs: number }
  /** Keep a paused Sandbox until then. */
  | { readonly kind: 'retain'; readonly shutdownAtMs: number }
  /** Write the policies that hold the claim's own egress rules. */
  | { readonly kind: 'secureNetwork'; readonly policies: readonly WantedPolicy[] }
  /** Note on the claim that these changed rules are in force. */
  | { readonly kind: 'noteNetwork'; readonly applied: string }
  | { readonly kind: 'report'; readonly report: Report }
  /** The claim has ended: Ready False, and `sandbox` cleared when nothing is left of it. */
  | { readonly kind: 'expire'; readonly message: string; readonly first: boolean; readonly sandboxGone: boolean }
  /** Fill slots of a detached claim in growing waves; initialise the daemon of each, and publish wave by wave. */
  | {
      readonly kind: 'fillSlots';
      readonly slots: readonly number[];
      readonly pools: readonly SandboxWarmPool[];
      readonly template: SandboxTemplate;
      readonly otherwise: SlotShortage;
    }
  /** Show the Sandboxes of a detached claim, and delete those that it will never show. */
  | { readonly kind: 'publishSlots'; readonly timedOut: boolean; readonly report?: Report }
  | { readonly kind: 'wait'; readonly ms: number; readonly reason: string };

/** What follows the commit of a Sandbox in the same pass, in this order. The last two do what the steps of that name do. */
export type AfterCommit = 'initRuntime' | 'publish' | 'annotate';

/** A bound claim shows its Sandbox (W2) in the pass that commits it (W1), once its daemon is initialised. */
export const AFTER_COMMIT: readonly AfterCommit[] = ['initRuntime', 'publish', 'annotate'];

/** A member that an annotation promises to the claim, and the pools one of which must own it. */
export interface Promised {
  readonly member: Sandbox;
  readonly pools: readonly SandboxWarmPool[];
}

/** What to do without a warm Sandbox. */
export type Shortage =
  | {
      readonly kind: 'create';
      readonly sandbox: Sandbox;
      readonly then: readonly AfterCommit[];
      /** Leaves the rest to a later pass, after so many milliseconds at the latest. */
      readonly holdMs?: number | undefined;
    }
  /** Wait for the next candidate of these pools, and retry after `retryMs` in any case. */
  | {
      readonly kind: 'queueForStock';
      readonly pools: readonly SandboxWarmPool[];
      readonly retryMs: number;
      readonly report?: Report | undefined;
    };

/** What to do for a slot without a warm Sandbox. */
export type SlotShortage =
  | { readonly kind: 'createSlot'; readonly input: ColdStartInput }
  | Extract<Shortage, { readonly kind: 'queueForStock' }>;

export type Plan = readonly Step[];

/** Requeues the claim after `ms`. */
export function wait(ms: number, reason: string): Step {
  return { kind: 'wait', ms, reason };
}

/** Whether the claim keeps its place among those that wait for stock. */
export function needsStock(plan: Plan): boolean {
  return plan.some(({ kind }) => kind === 'adopt' || kind === 'queueForStock' || kind === 'fillSlots');
}
