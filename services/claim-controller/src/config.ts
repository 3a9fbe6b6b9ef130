import { durationMs, flag, integer, json, list } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { containerResources } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { z } from 'zod';

/** Settings of the claim-controller, by environment variable. */
export const claimSettings = controllerSettings.extend({
  /** Claims reconciled side by side. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-claim-concurrent-workers' }),
  /** Domains of pod labels that claims may set; subdomains count. */
  ALLOWED_LABEL_DOMAINS: list().default(['sandbox.users.io']),
  /** How long bookkeeping annotations are gathered before they are written. */
  WRITE_BEHIND_WINDOW: durationMs().default(750).meta({ flag: 'sandbox-write-behind-window', form: 'duration' }),
  SANDBOX_NAMESERVERS: list().default([...POD_DEFAULTS.dnsNameservers]),
  /** Whether claims may have variables from Secrets of their namespace; needs leave to read Secrets. */
  ENVS_FROM_SECRETS: flag().default(false),
  /** Writes no Kubernetes Events on claims. */
  DISABLE_CLAIM_EVENTS: flag().default(false).meta({ flag: 'disable-claim-events', form: 'flag' }),
  SECURITY_DEFAULTS: z.enum(['Compat', 'Hardened']).default('Compat'),
  SANDBOX_RUNTIME_CLASS: z.string().default(''),
  SANDBOX_RESOURCES: json('requests and limits as JSON', containerResources).default({}),
});
