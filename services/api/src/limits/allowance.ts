import type { z } from 'zod';
import type { ApiKey } from '@sandlot/tenancy';
import type { apiSettings } from '../wiring/config.ts';

type Settings = z.output<typeof apiSettings>;

/** What a key may do, with the installation's defaults filled in; 0: no limit. */
export interface Allowance {
  readonly sandboxes: number;
  readonly createsPerSecond: number;
  readonly maxTimeoutSeconds: number;
  readonly neverTimeout: boolean;
}

type Defaults = Pick<Settings, 'DEFAULT_SANDBOX_LIMIT' | 'DEFAULT_CREATE_RATE' | 'MAX_SANDBOX_TIMEOUT'>;

export function allowanceOf({ limits, role }: ApiKey, defaults: Defaults): Allowance {
  return {
    sandboxes: limits.sandboxes ?? defaults.DEFAULT_SANDBOX_LIMIT,
    createsPerSecond: limits.createsPerSecond ?? defaults.DEFAULT_CREATE_RATE,
    maxTimeoutSeconds: limits.maxTimeoutSeconds ?? Math.floor(defaults.MAX_SANDBOX_TIMEOUT / 1_000),
    neverTimeout: limits.neverTimeout ?? role === 'admin',
  };
}
