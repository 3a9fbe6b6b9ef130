import type { Bus } from '@sandlot/bus';
import type { KubeClient } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { CreateRates, Places, WatchedKeyRing } from '@sandlot/tenancy';
import type { z } from 'zod';
import type { apiSettings } from './config.ts';
import type { HttpMetrics } from '../http/metrics.ts';
import type { CreateLedger } from '../idempotency/ledger.ts';
import type { Cache } from './informers.ts';
import type { World } from '../state/cluster-state.ts';

export type ApiSettings = z.output<typeof apiSettings>;

/** What the operations of the api work with. */
export interface Deps {
  readonly client: KubeClient;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly cache: Cache;
  readonly world: World;
  readonly keys: WatchedKeyRing;
  readonly rates: CreateRates;
  readonly places: Places;
  /** What creates with an Idempotency-Key made, also after it is gone. */
  readonly ledger: CreateLedger;
  readonly metrics: HttpMetrics;
  readonly settings: ApiSettings;
  /** Tells this replica from others. */
  readonly instance: string;
  /** The installation's key for the tokens of sandboxes. */
  readonly tokenKey: Uint8Array;
  /** Whether everything it follows is in its caches. */
  readonly isSynced: () => boolean;
  /** Aborts when the process takes its leave: what would never end by itself ends then. */
  readonly closing: AbortSignal;
}
