import { durationMs, ed25519PrivateKey, flag, integer, json, list, text } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { containerResources, egressModes, egressProxyPods } from '@sandlot/api-types';
import { POD_DEFAULTS } from '@sandlot/blueprint';
import { egressProofSettings, readEgressProofs, readTokenKeys, tokenKeySettings } from '@sandlot/tenancy';
import { systemClock } from '@sandlot/std';
import { z } from 'zod';
import { RuntimeClient } from '../runtime/runtime-client.ts';
import type { RuntimeAccess } from '../runtime/runtime-inits.ts';

/** Settings of the claim-controller, by environment variable. */
export const claimSettings = controllerSettings.extend({
  /** How many claims to reconcile side by side. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-claim-concurrent-workers' }),
  /** Domains of pod labels that claims may set; subdomains count. */
  ALLOWED_LABEL_DOMAINS: list().default(['sandbox.users.io']),
  /** How long to gather bookkeeping annotations before writing them. */
  WRITE_BEHIND_WINDOW: durationMs().default(750).meta({ flag: 'sandbox-write-behind-window', form: 'duration' }),
  SANDBOX_NAMESERVERS: list().default([...POD_DEFAULTS.dnsNameservers]),
  SECURITY_DEFAULTS: z.enum(['Compat', 'Hardened']).default('Compat'),
  SANDBOX_RUNTIME_CLASS: z.string().default(''),
  SANDBOX_RESOURCES: json('requests and limits as JSON', containerResources).default({}),
  /** How templates reach names that do not say it themselves; absent: no egress proxy runs. */
  EGRESS_MODE: z.enum(egressModes).optional(),
  /** The Pods of the egress proxy, which is in the namespace of this process. */
  EGRESS_PROXY: json('JSON such as {"podLabels":{"app":"egress"},"ports":[80,443]}', egressProxyPods).optional(),
  /** Whether claims may have variables from Secrets of their namespace; needs leave to read Secrets. */
  ENVS_FROM_SECRETS: flag().default(false),
  /** Namespace in which the API stores the variables of its sandboxes; absent: there is no API. Needs leave to read, list and delete Secrets in it. */
  ENVS_NAMESPACE: text().optional(),
  /** Whether claims may name PersistentVolumes that are open to their namespace; needs permission to read them. */
  PERSISTENT_VOLUMES: flag().default(false),
  /** Ed25519 private key in PEM. Its signature proves to the daemons in sandboxes that the installation calls. */
  RUNTIME_SIGNING_KEY: ed25519PrivateKey().optional(),
  ...tokenKeySettings,
  ENVD_TOKEN_KEY: tokenKeySettings.ENVD_TOKEN_KEY.optional(),
  ...egressProofSettings,
  /** Whether header rules of claims may name marked Secrets of their namespace; needs leave to read Secrets. */
  EGRESS_NAMESPACE_SECRETS: flag().default(false),
  /** Whether to keep the ledger of usage in NATS. */
  USAGE_ENABLED: flag().default(false),
  /** Whether to write no Kubernetes Events on claims. */
  DISABLE_CLAIM_EVENTS: flag().default(false).meta({ flag: 'disable-claim-events', form: 'flag' }),
});

type RuntimeKeys = Pick<
  z.output<typeof claimSettings>,
  | 'RUNTIME_SIGNING_KEY'
  | 'ENVD_TOKEN_KEY'
  | 'ENVD_TOKEN_KEY_NUMBER'
  | 'ENVD_TOKEN_KEY_OTHER'
  | 'EGRESS_PROOF_KEY'
  | 'EGRESS_PROOF_KEY_OTHER'
>;

/** Access to the daemons in sandboxes; undefined when the installation has no keys. */
export function findRuntimeAccess(keys: RuntimeKeys): RuntimeAccess | undefined {
  const { RUNTIME_SIGNING_KEY, ENVD_TOKEN_KEY } = keys;
  if (RUNTIME_SIGNING_KEY === undefined || ENVD_TOKEN_KEY === undefined) return undefined;
  const client = new RuntimeClient({ signingKey: RUNTIME_SIGNING_KEY, clock: systemClock });
  const tokenKeys = readTokenKeys({ ...keys, ENVD_TOKEN_KEY });
  return { client, tokenKeys, egressProofs: readEgressProofs(keys) };
}
