import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import type { Failures } from '../delivery/rules.ts';
import type { SeenVolumes } from '../volumes/dynamic-volumes.ts';
import type { OwnNetwork } from '../network/wanted-policy.ts';
import type { Uninitialised } from '../runtime/start.ts';

/** Where a claim's sandbox may come from, as far as the objects it names exist. */
export type Origin =
  | { readonly kind: 'missingPool'; readonly name: string }
  | { readonly kind: 'missingTemplate'; readonly name: string }
  /** `pools` are those the claim may adopt from. */
  | { readonly kind: 'found'; readonly template: SandboxTemplate; readonly pools: readonly SandboxWarmPool[] };

/** Everything a decision about one claim looks at, read at one moment. */
export interface ClaimSnapshot {
  readonly claim: SandboxClaim;
  readonly origin: Origin;
  /** Sandboxes the claim controls, the freshest known form of each, not Ready before their daemon is initialised. Normally none or one. */
  readonly owned: readonly Sandbox[];
  /** Those of the claim's Sandboxes whose daemon has to be initialised. */
  readonly uninitialised: readonly Uninitialised[];
  /** A Sandbox that bears the claim's name but is not the claim's. */
  readonly namesake: Sandbox | undefined;
  /** A member of one of the origin's pools that the claim was promised: annotated on it, but not committed yet. */
  readonly promised: Sandbox | undefined;
  /** Pools of the origin with a candidate that no claim before this one waits for. */
  readonly offers: readonly SandboxWarmPool[];
  /** Members of the origin's pools that exist but have no address yet. */
  readonly warming: number;
  /** Deliveries to this claim that failed since it was last changed. */
  readonly failures: Failures | undefined;
  /** Since when a Sandbox is known to be the claim's, epoch milliseconds. */
  readonly sinceMs: (sandbox: Sandbox) => number;
  /** How far the claim's own egress rules are; undefined: it asks for none. */
  readonly network?: OwnNetwork | undefined;
  readonly nowMs: number;
  /** The end for which this process has paused the Sandbox last, epoch milliseconds. */
  readonly pausedForMs?: number | undefined;
  /** Label domains that claims may set on pods. */
  readonly allowedLabelDomains: readonly string[];
  readonly podDefaults: PodDefaults;
  /** Whether variables may come from Secrets. */
  readonly envsFromSecrets: boolean;
  /** Those the claim names, where a Sandbox is to be made of them; `off` where claims may name none. */
  readonly persistentVolumes: SeenVolumes | 'off';
}
