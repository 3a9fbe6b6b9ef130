import { containerResources, egressModes, egressProxyPods } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { flag, integer, json, list } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { z } from 'zod';
import { networkVariables } from '../templates/network/settings.ts';

/** Settings of the warmpool-controller, by environment variable. Pod defaults must equal the claim-controller's. */
export const warmPoolSettings = controllerSettings.extend({
  /** Pools reconciled at once. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-warm-pool-concurrent-workers' }),
  /** Templates reconciled at once; default CONCURRENCY. */
  TEMPLATE_CONCURRENCY: integer({ min: 1, max: 1_000 })
    .optional()
    .meta({ flag: 'sandbox-template-concurrent-workers' }),
  /** Members of one pool that may be starting at once, for a pool without `refill.maxInFlight`. */
  MAX_IN_FLIGHT: integer({ min: 1 }).optional().meta({ flag: 'sandbox-warm-pool-max-batch-size' }),
  SANDBOX_NAMESERVERS: list().default([...POD_DEFAULTS.dnsNameservers]),
  SECURITY_DEFAULTS: z.enum(['Compat', 'Hardened']).default('Compat'),
  SANDBOX_RUNTIME_CLASS: z.string().default(''),
  SANDBOX_RESOURCES: json('requests and limits as JSON', containerResources).default({}),
  /** How templates reach names that do not say it themselves; absent: no egress proxy runs. */
  EGRESS_MODE: z.enum(egressModes).optional(),
  /** Whether the egress proxy applies the rules of templates. */
  EGRESS_RULES: flag().default(false),
  /** The Pods of the egress proxy, which is in the namespace of this process. */
  EGRESS_PROXY: json('JSON such as {"podLabels":{"app":"egress"},"ports":[80,443]}', egressProxyPods).optional(),
  /** Whether the snapshot-controller runs, so that templates may have golden snapshots. */
  SNAPSHOTS_ENABLED: flag().default(false),
  ...networkVariables,
});
