import type { ApiKey } from '@sandlot/tenancy';

/** What an API key may do. A number of 0 means no limit. */
export interface Allowance {
  /** Sandboxes at a time, paused ones included. */
  readonly sandboxes: number;
  readonly createsPerSecond: number;
  readonly maxTimeoutSeconds: number;
  /** Whether the key may create sandboxes that never expire. */
  readonly neverTimeout: boolean;
  /** Whether the key may keep sandboxes whose creation failed: no claim and no quota counts those. */
  readonly keepFailed: boolean;
  /** Whether the key may choose the name of a Sandbox: all keys of a namespace share its names. */
  readonly chooseName: boolean;
}

/** The limits of the installation, for keys that do not set their own. */
export type DefaultAllowance = Omit<Allowance, 'neverTimeout' | 'keepFailed' | 'chooseName'>;

/**
 * The limits of a key: its own, else the defaults. By default only admins may create sandboxes without a timeout, keep failed
 * ones, and choose names.
 */
export function buildAllowance({ limits, role }: ApiKey, defaults: DefaultAllowance): Allowance {
  return {
    sandboxes: limits.sandboxes ?? defaults.sandboxes,
    createsPerSecond: limits.createsPerSecond ?? defaults.createsPerSecond,
    maxTimeoutSeconds: limits.maxTimeoutSeconds ?? defaults.maxTimeoutSeconds,
    neverTimeout: limits.neverTimeout ?? role === 'admin',
    keepFailed: limits.keepFailed ?? role === 'admin',
    chooseName: limits.chooseName ?? role === 'admin',
  };
}
