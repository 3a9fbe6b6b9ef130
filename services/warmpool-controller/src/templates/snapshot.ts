import type { SandboxTemplate, SandboxTemplateStatus } from '@sandlot/api-types';
import type { NetworkPolicy } from '@sandlot/kube';
import type { Refusal } from './network/refusals.ts';
import type { NetworkSettings } from './network/settings.ts';

type PoolCount = NonNullable<SandboxTemplateStatus['warmPools']>[number];

/** Everything a decision about one template looks at, read at one moment. */
export interface TemplateSnapshot {
  readonly template: SandboxTemplate;
  readonly blueprintHash: string;
  /** The NetworkPolicy that bears the name of the template's, whoever it belongs to. */
  readonly policy: NetworkPolicy | undefined;
  /** What the API server has said against the template's rules, if they are still the same. */
  readonly refusal: Refusal | undefined;
  /** Its warm pools, in no order. */
  readonly pools: readonly PoolCount[];
  readonly network: NetworkSettings;
  readonly nowMs: number;
}
