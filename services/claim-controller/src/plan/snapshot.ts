import type { Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import type { PodDefaults } from '@sandlot/blueprint';
import type { Failures } from '../delivery/rules.ts';
import type { OwnNetwork } from '../network/snapshot-network.ts';
import type { Quota } from '../quota/quota.ts';
import type { Uninitialised } from '../runtime/initialisation.ts';
import type { ReadVolumes } from '../volumes/snapshot-volumes.ts';

/** The template and pools a claim starts from, as far as they exist. */
export type Source =
  | { readonly kind: 'missingPool'; readonly name: string }
  | { readonly kind: 'missingTemplate'; readonly name: string }
  /** `pools` are those the claim may adopt from. */
  | { readonly kind: 'found'; readonly template: SandboxTemplate; readonly pools: readonly SandboxWarmPool[] };

/** Why the claim may not use a Secret that it names. */
export interface SecretFinding {
  /** Names the Secret and what to do, and no value. */
  readonly message: string;
  /** The Secret does not exist; it may still come. */
  readonly isMissing: boolean;
  /** Of the condition; undefined: that of an error. */
  readonly reason?: string | undefined;
}

/** What the installation allows claims to write into `rules` of their egress. */
export interface EgressRulesPolicy {
  readonly isAvailable: boolean;
  readonly allowsSecrets: boolean;
}

/** Everything that the decision about one claim depends on, read at one moment. Plain data. */
export interface ClaimSnapshot {
  readonly claim: SandboxClaim;
  readonly source: Source;
  /** Sandboxes the claim controls, each in its newest known form, shown not Ready until its daemon is initialised. Normally none or one. */
  readonly owned: readonly Sandbox[];
  /** Those of the claim's Sandboxes whose daemon has to be initialised. */
  readonly uninitialised: readonly Uninitialised[];
  /** A Sandbox that bears the name of the claim's cold Sandbox but is not the claim's. */
  readonly namesake: Sandbox | undefined;
  /** Another claim that bears the name in `sandboxName`. */
  readonly rival: SandboxClaim | undefined;
  /** A member of one of the source's pools that an annotation promises to the claim, not adopted yet. */
  readonly promised: Sandbox | undefined;
  /** Pools of the source with a candidate that no earlier claim waits for. */
  readonly offers: readonly SandboxWarmPool[];
  /** Members of the source's pools that exist but have no address yet. */
  readonly warming: number;
  /** Failed deliveries to this claim since its last change. */
  readonly failures: Failures | undefined;
  /** By UID of a Sandbox: since when its time to become ready runs, epoch milliseconds. Absent: it has not begun. */
  readonly timedSince: ReadonlyMap<string, number>;
  /** Places of the claim's API key, while the claim has none; undefined: nothing limits it. */
  readonly quota?: Quota | undefined;
  /** Why no Pod of the source's template may start yet; undefined: its network rules are in place. */
  readonly networkGap?: string | undefined;
  /** The claim's own egress rules; undefined: it asks for none. */
  readonly network?: OwnNetwork | undefined;
  readonly nowMs: number;
  /** Milliseconds since this process first saw the claim. */
  readonly knownForMs: number;
  /** Many claims arrive with this one. */
  readonly isInBurst: boolean;
  /** Milliseconds since this process last committed a Sandbox to the claim; undefined: it committed none. */
  readonly committedForMs?: number | undefined;
  /** The end for which this process last paused the Sandbox, epoch milliseconds. */
  readonly pausedForMs?: number | undefined;
  /** The request that the API server refused as invalid, in the form of `requestOf`. */
  readonly refusedRequest?: string | undefined;
  /** Label domains that claims may set on pods. */
  readonly allowedLabelDomains: readonly string[];
  readonly podDefaults: PodDefaults;
  /** Whether variables may come from Secrets of the claim's namespace. */
  readonly envsFromSecrets: boolean;
  /** Whether claims may have header rules, and whether these may name Secrets of their namespace. */
  readonly egressRules: EgressRulesPolicy;
  /** Whether this process can read the variables that the API stored for its claims. */
  readonly canReadStoredEnvs: boolean;
  /** Problem with the Secrets that the claim names. They are read only for a pass that sends a request. */
  readonly secretFinding?: SecretFinding | undefined;
  /** PersistentVolumes that the claim names, read only for a pass that makes a Sandbox of them; `off`: claims may name none. */
  readonly persistentVolumes: ReadVolumes | 'off';
}
