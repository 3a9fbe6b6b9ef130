import { durationMs, flag, integer, json, list, port, secret, text, url } from '@sandlot/config';
import { processSettings, redisSettings } from '@sandlot/service';
import { tokenKeySettings } from '@sandlot/tenancy';
import { z } from 'zod';
import { FILE_SERVER_URL } from '../e2b/volumes/content/file-server.ts';

/** As Loki names labels. */
function labelName() {
  return z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]*$/, 'a name of a label');
}

/** Settings of the API, by environment variable. */
export const apiSettings = processSettings.extend({
  API_PORT: port().default(8080),
  /** The port with the operations of admins as well. */
  ADMIN_PORT: port().default(8082),
  /** Who reaches that port: processes of this Pod, such as a port-forward, or all that the network lets through. */
  ADMIN_LISTEN: z.enum(['loopback', 'all'], { error: 'one of loopback, all' }).default('loopback'),
  /** Namespace of the API keys' Secrets. The API may read every Secret there. */
  KEYS_NAMESPACE: text(),
  /** Namespace in which the values of environment variables are stored. The API may create Secrets there, and read them to fork. */
  ENVS_NAMESPACE: text(),
  /** Namespace of the secrets of teams and of the values of headers. The API may write them there; absent: the installation has none. */
  VAULT_NAMESPACE: text().optional(),
  /** Secrets that the API keys of a namespace may create. */
  VAULT_SECRETS_LIMIT: integer({ min: 0, max: 10_000 }).default(100),
  /** Namespace in which volumes are registered. The API may write ConfigMaps there; absent: the installation has no volumes. */
  VOLUMES_NAMESPACE: text().optional(),
  /** Volumes that a namespace may have. */
  VOLUMES_LIMIT: integer({ min: 0, max: 10_000 }).default(100),
  /** URL of the file server of a namespace, with `{namespace}` in place of its name. */
  VOLUME_SERVER_URL: text().default(FILE_SERVER_URL),
  /** Namespace of webhooks. The API may write Secrets there; absent: the installation has none. */
  HOOKS_NAMESPACE: text().optional(),
  /** URL of the webhooks process; absent: the installation has no webhooks. */
  WEBHOOKS_URL: url(['http', 'https']).optional(),
  /** Webhooks that the API keys of a namespace may create. */
  WEBHOOKS_LIMIT: integer({ min: 0, max: 1_000 }).default(5),
  /** Where webhooks may go; the webhooks process has the same. */
  WEBHOOK_PRIVATE_ADDRESSES: list().default([]),
  WEBHOOK_BLOCKED_ADDRESSES: list().default([]),
  WEBHOOK_PORTS: list()
    .transform((texts) => texts.map(Number))
    .pipe(z.array(z.int().min(1).max(65_535)))
    .default([80, 443]),
  ...tokenKeySettings,
  /** Domain of the sandboxes, `sandbox.example.com`; absent: single-URL mode. */
  SANDBOX_DOMAIN: text().optional(),
  /** URL of the gateway, through which the API asks daemons for metrics and whether they answer; absent: it asks none. */
  GATEWAY_URL: url(['http', 'https']).optional(),
  /** URL of the store with logs, which speaks the query API of Loki; absent: logs end with their Pods. */
  LOG_STORE_URL: url(['http', 'https']).optional(),
  /** Its tenant, for the header X-Scope-OrgID. */
  LOG_STORE_TENANT: text().optional(),
  /** Labels of its streams with the namespace and the name of a Pod. */
  LOG_STORE_NAMESPACE_LABEL: labelName().default('namespace'),
  LOG_STORE_POD_LABEL: labelName().default('pod'),
  /** Labels with their values that all streams with logs of sandboxes have, as JSON. */
  LOG_STORE_SELECTOR: json('a JSON object of texts', z.record(labelName(), z.string().min(1))).default({}),
  /** Bearer token for it, or a user and a password. */
  LOG_STORE_TOKEN: secret().optional(),
  LOG_STORE_USER: text().optional(),
  LOG_STORE_PASSWORD: secret().optional(),
  /** Version of the daemon in answers about a sandbox that does not report one. */
  ENVD_VERSION: text().default('0.6.4'),
  /** Longest duration of a create. Clients wait 60 s by default. */
  CREATE_TIMEOUT: durationMs().default(50_000),
  /** Longest wait for a pause or a resume. */
  TRANSITION_TIMEOUT: durationMs().default(50_000),
  /** Name with the addresses of the rules processes of the egress proxy, and their port; absent: the installation has no proxy. */
  EGRESS_REPORTS_HOST: text().optional(),
  EGRESS_REPORTS_PORT: port().default(8080),
  /** Whether the installation saves the memory of Sandboxes that hibernate. */
  SNAPSHOTS_ENABLED: flag().default(false),
  /** Whether a pause that does not say `memory: true` may keep the volumes alone where memory cannot be kept. */
  PAUSE_MEMORY_FALLBACK: flag().default(true),
  /** URL of the template-builder; absent: the installation builds no templates. */
  BUILDER_URL: url(['http', 'https']).optional(),
  /** Builds of a namespace that have not ended. */
  BUILDS_UNFINISHED_PER_NAMESPACE: integer({ min: 1, max: 10_000 }).default(20),
  /** Longest archive with files of a build, bytes. */
  BUILD_FILES_MAX_BYTES: integer({ min: 1_024, max: 1_099_511_627_776 }).default(5_368_709_120),
  /** Without a Redis metrics of sandboxes have no history. */
  ...redisSettings.shape,
  /** Whether a controller keeps the ledger of usage in NATS. */
  USAGE_ENABLED: flag().default(false),
  /** Longest timeout of a sandbox, for keys without a limit of their own. */
  MAX_SANDBOX_TIMEOUT: durationMs().default(86_400_000),
  /** Sandboxes at a time, for keys without a limit of their own; 0: no limit. */
  DEFAULT_SANDBOX_LIMIT: integer({ min: 0, max: 1_000_000 }).default(100),
  /** Creates per second, for keys without a limit of their own; 0: no limit. */
  DEFAULT_CREATE_RATE: integer({ min: 0, max: 100_000 }).default(20),
  /** Whether a client's trace context becomes the parent of the request's span, or a link from it. */
  CLIENT_TRACES: z.enum(['link', 'parent'], { error: 'one of link, parent' }).default('link'),
  /** Longest body of a request, bytes. */
  MAX_BODY_BYTES: integer({ min: 1_024, max: 16_777_216 }).default(1_048_576),
  /** Proxies whose `X-Forwarded-For` counts: addresses, CIDRs, or loopback, linklocal, uniquelocal. */
  TRUSTED_PROXIES: list().default(['loopback', 'linklocal', 'uniquelocal']),
});

export type ApiSettings = z.output<typeof apiSettings>;
