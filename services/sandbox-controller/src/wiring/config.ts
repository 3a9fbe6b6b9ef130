import { createSecretKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { ed25519PublicKeys, flag, integer, secretValue, text } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { z } from 'zod';

/** Settings of the sandbox-controller, by environment variable. */
export const sandboxSettings = controllerSettings.extend({
  /** Sandboxes reconciled side by side. */
  CONCURRENCY: integer({ min: 1, max: 1_000 }).default(32).meta({ flag: 'sandbox-concurrent-workers' }),
  /** Last labels of the names of Services. */
  CLUSTER_DOMAIN: text().default('cluster.local').meta({ flag: 'cluster-domain' }),
  /** What an unset `service` means: docs/reference/sandbox.md#service-left-unset. */
  UNSET_SERVICE: z
    .enum(['V1Alpha1', 'Never', 'Always'], { error: 'one of V1Alpha1, Never, Always' })
    .default('V1Alpha1'),
  /** Image of the in-sandbox daemon for Sandboxes that name none. */
  RUNTIME_IMAGE: z.string().default(''),
  /** By these keys the daemon recognises the installation, the one in use first; without one no daemon is injected. */
  RUNTIME_PUBLIC_KEY: ed25519PublicKeys()
    .refine(({ length }) => length > 0, { error: 'Ed25519 public keys or certificates in PEM' })
    .transform((keys) => keys.join(','))
    .default(''),
  /** By these keys the daemon recognises the gateway, the one in use first; without them it obeys no gateway. */
  GATEWAY_PUBLIC_KEYS: ed25519PublicKeys().default([]),
  /** How the daemon comes into Pods: docs/reference/sandbox-template.md#runtime-injection. */
  RUNTIME_DELIVERY: z
    .enum(['InitContainer', 'ImageVolume'], { error: 'one of InitContainer, ImageVolume' })
    .default('InitContainer'),
  /** Where daemons keep what processes do and print: docs/reference/runtime.md#records-in-the-log. */
  RUNTIME_RECORDS: z.enum(['memory', 'log'], { error: 'one of memory, log' }).default('memory'),
  /** Base64 of 32 random bytes from which the keys of Sandboxes come; needed for ImageVolume. */
  RUNTIME_IDENTITY_SEED: secretValue('base64 of at least 32 bytes', readSeed).optional(),
  /** Whether the snapshot-controller is installed, so that Sandboxes can hibernate: docs/reference/sandbox.md#hibernation. */
  SNAPSHOTS_ENABLED: flag().default(false),
  /** Whether Sandboxes that hibernate are moved from nodes that are being emptied: docs/reference/sandbox.md#drain. */
  DRAIN_ENABLED: flag().default(false),
  /** Whether Sandboxes without a template wait for the NetworkPolicy of their namespace; as for the warmpool-controller. */
  NETWORK_PROTECT_AUTHORED_SANDBOXES: flag().default(false),
  /** Service of the egress proxy in the namespace of this process, which Pods of Sandboxes ask for names; absent: there is none. */
  EGRESS_SERVICE: text().optional(),
  /** File with the authority of the egress proxy, which programs in Pods of Sandboxes trust; absent: there is none. */
  EGRESS_CA_FILE: text().optional(),
});

type EgressSettings = Pick<z.output<typeof sandboxSettings>, 'EGRESS_SERVICE' | 'POD_NAMESPACE'>;

/** The Service of the egress proxy; undefined: the installation has none. */
export function findEgressService({ EGRESS_SERVICE, POD_NAMESPACE }: EgressSettings) {
  return EGRESS_SERVICE === undefined ? undefined : { namespace: POD_NAMESPACE, name: EGRESS_SERVICE };
}

const SEED_BYTES = 32;

function readSeed(given: string): KeyObject {
  const bytes = Buffer.from(given, 'base64');
  if (bytes.length < SEED_BYTES) throw new Error('too short');
  return createSecretKey(bytes);
}
