import type { Sandbox } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import type { NetworkSettings } from '../network/settings.ts';

/** Directly authored Sandboxes of a namespace that may own its policy; a few of possibly thousands. */
export interface OwnerCandidates {
  /** Owners that the policy has now. */
  readonly present: readonly Sandbox[];
  /** Others, without a deletionTimestamp. */
  readonly fresh: readonly Sandbox[];
  /** Others, with one. */
  readonly terminating: readonly Sandbox[];
}

/** Everything that a decision about the policy for authored Sandboxes of one namespace depends on. Plain data. */
export interface AuthoredSnapshot {
  readonly namespace: string;
  readonly owners: OwnerCandidates;
  /** The policy with the name of ours; another client may have created it. */
  readonly policy: NetworkPolicy | undefined;
  readonly network: NetworkSettings;
}
