import type { NextCondition, SandboxTemplate, SandboxTemplateStatus } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import type { NetworkSettings } from '../network/settings.ts';

export type PoolCount = NonNullable<SandboxTemplateStatus['warmPools']>[number];

/** What a condition says. */
export type Finding = Pick<NextCondition, 'status' | 'reason' | 'message'>;

/** The API server refused the rules of a template, in its words. */
export interface Refusal {
  readonly message: string;
}

/** Everything that a decision about one template depends on, read at one moment. Plain data. */
export interface TemplateSnapshot {
  readonly template: SandboxTemplate;
  readonly blueprintHash: string;
  /** The NetworkPolicy with the name of the template's policy, with any owner. */
  readonly policy: NetworkPolicy | undefined;
  /** Set while the template still has the rules that the API server refused. */
  readonly refusal: Refusal | undefined;
  /** The template's warm pools, in no order. */
  readonly pools: readonly PoolCount[];
  readonly network: NetworkSettings;
  /** Monotonic time before which the status is written only for more than counts of pools. */
  readonly statusNotBeforeMs: number;
  /** Wall clock, for times in the status. */
  readonly nowMs: number;
}
