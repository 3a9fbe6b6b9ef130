import type { ApiKey } from '@sandlot/tenancy';
import type { Allowance } from './allowance.ts';
import type { CreateRate } from './create-rate.ts';
import type { SandboxQuota } from './sandbox-quota.ts';

/** The limits of API keys: what a key may do, how fast it may create, and how many sandboxes it may have. */
export interface Limits {
  readonly getAllowance: (key: ApiKey) => Allowance;
  readonly createRate: CreateRate;
  readonly sandboxQuota: SandboxQuota;
}
