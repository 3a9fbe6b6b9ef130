import { podSettings } from '@sandlot/blueprint';
import { flag, integer, json, list } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { z } from 'zod';
import { networkVariables } from '../templates/network/settings.ts';

/** Settings of the warmpool-controller, by environment variable. */
export const warmPoolSettings = controllerSettings.extend({
  /** Pools reconciled at once. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-warm-pool-concurrent-workers' }),
  /** Templates reconciled at once; default CONCURRENCY. */
  TEMPLATE_CONCURRENCY: integer({ min: 1, max: 1_000 })
    .optional()
    .meta({ flag: 'sandbox-template-concurrent-workers' }),
  /** Members of one pool that may be starting at once, for a pool without `refill.maxInFlight`. */
  MAX_IN_FLIGHT: integer({ min: 1 }).optional().meta({ flag: 'sandbox-warm-pool-max-batch-size' }),
  ...podSettings,
  /** Whether the snapshot-controller runs, so that templates may have golden snapshots. */
  SNAPSHOTS_ENABLED: flag().default(false),
  ...networkVariables,
});
