import { createPublicKey } from 'node:crypto';
import { integer, text } from '@sandlot/config';
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
  /** By this key the daemon recognises the installation; without it no daemon is injected. */
  RUNTIME_PUBLIC_KEY: parsePublicKey().default(''),
});

/** An Ed25519 public key as PEM, alone or in a certificate, read as base64 of its 32 bytes. */
function parsePublicKey() {
  return z.string().transform((pem, context): string => {
    const key = findRawPublicKey(pem);
    if (key !== undefined) return key;
    context.issues.push({ code: 'custom', message: 'an Ed25519 public key or certificate in PEM', input: pem });
    return z.NEVER;
  });
}

function findRawPublicKey(pem: string): string | undefined {
  try {
    const { crv, x = '' } = createPublicKey(pem).export({ format: 'jwk' });
    return crv === 'Ed25519' ? Buffer.from(x, 'base64url').toString('base64') : undefined;
  } catch {
    return undefined;
  }
}
