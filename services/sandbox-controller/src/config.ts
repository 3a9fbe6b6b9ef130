import { integer, text } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { z } from 'zod';

/** Settings of the sandbox-controller, by environment variable. */
export const sandboxSettings = controllerSettings.extend({
  /** Sandboxes reconciled side by side. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-concurrent-workers' }),
  /** Last labels of the names of Services. */
  CLUSTER_DOMAIN: text().default('cluster.local').meta({ flag: 'cluster-domain' }),
  /** What an unset `service` means: upstream's promise to v1alpha1 authors, nothing, or a Service for everybody. */
  UNSET_SERVICE: z
    .enum(['V1Alpha1', 'Never', 'Always'], { error: 'one of V1Alpha1, Never, Always' })
    .default('V1Alpha1'),
});
