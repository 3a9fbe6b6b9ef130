import type { Rate, Tokens } from '@sandlot/std';
import type { Adoptions } from '../refill/adoption-pause.ts';
import type { Demand } from '../sizing/demand.ts';
import type { CreationBackoff } from './creation-backoff.ts';

/**
 * What this process has seen of one pool. A process that loses it waits a little longer or shorter than needed, but never
 * makes a pool of the wrong size. Times are monotonic.
 */
export interface PoolHistory {
  readonly adoptions?: Adoptions | undefined;
  readonly claimRate?: Rate | undefined;
  readonly demands?: readonly Demand[] | undefined;
  readonly tokens?: Tokens | undefined;
  readonly backoff?: CreationBackoff | undefined;
}
