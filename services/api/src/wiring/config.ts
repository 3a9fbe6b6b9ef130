import { durationMs, integer, list, port, secret, text, url } from '@sandlot/config';
import { processSettings } from '@sandlot/service';
import { z } from 'zod';

/** Settings of the api, by environment variable. */
export const apiSettings = processSettings.extend({
  API_PORT: port().default(8080),
  /** Where the Secrets of API keys are; the pod's own namespace, when absent. */
  KEYS_NAMESPACE: text().optional(),
  /** The installation's key for the tokens of sandboxes: base64 of 32 bytes, `envd.key` of its runtime Secret. */
  ENVD_TOKEN_KEY: secret(),
  /** What sandboxes are reached under, `sandbox.example.com`; absent: clients name one URL for all of them. */
  SANDBOX_DOMAIN: text().optional(),
  /** Where the gateway is, to ask daemons for their metrics; absent: no metrics. */
  GATEWAY_URL: url(['http', 'https']).optional(),
  /** Version of the daemon's protocol that clients are told when a sandbox does not say. */
  ENVD_VERSION: text().default('0.6.4'),
  /** How long a create may take before it is given up. Clients wait for 60 s by default. */
  CREATE_TIMEOUT: durationMs().default(50_000),
  /** How long a pause or a resume is waited for. */
  TRANSITION_TIMEOUT: durationMs().default(50_000),
  /** Longest timeout of keys that say nothing else. */
  MAX_SANDBOX_TIMEOUT: durationMs().default(86_400_000),
  /** Sandboxes at a time of keys that say nothing else; 0: no limit. */
  DEFAULT_SANDBOX_LIMIT: integer({ min: 0, max: 1_000_000 }).default(100),
  /** Creates a second of keys that say nothing else; 0: no limit. */
  DEFAULT_CREATE_RATE: integer({ min: 0, max: 100_000 }).default(20),
  /** What a client's trace context is: something our own trace links to, or the parent of it. */
  CLIENT_TRACES: z.enum(['link', 'parent'], { error: 'one of link, parent' }).default('link'),
  /** Largest body of a request, bytes. */
  MAX_BODY_BYTES: integer({ min: 1_024, max: 16_777_216 }).default(1_048_576),
  /** Whose `X-Forwarded-For` is believed: addresses, CIDRs, or loopback, linklocal, uniquelocal. */
  TRUSTED_PROXIES: list().default(['loopback', 'linklocal', 'uniquelocal']),
});
