// What Sandlot's own REST API sends and receives: short forms of the Kubernetes objects, which remain the source of truth.
import { dnsLabel, keyLimits, roles } from '@sandlot/tenancy';
import { z } from 'zod';
import { outcome } from '../e2b/answer/schemas.ts';
import { shownAs } from '../openapi/shown-as.ts';

const count = z.int().min(0);
const timestamp = z.iso.datetime({ offset: true });
const objectName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
/** Name of an existing object, which may have dots. */
const reference = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
const duration = z
  .string()
  .regex(/^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$/)
  .meta({ examples: ['90s'] });
const strings = z.record(z.string(), z.string());

export const named = z.object({ name: z.string().min(1).max(253) });

export const scope = z.object({
  namespace: dnsLabel
    .optional()
    .meta({ description: 'Keys of the role admin only: another namespace than their own.' }),
});

const condition = z
  .object({
    type: z.string(),
    status: z.string(),
    reason: z.string(),
    message: z.string(),
    lastTransitionTime: z.string(),
  })
  .meta({ id: 'Condition' });

export const pool = z
  .object({
    namespace: z.string(),
    name: z.string(),
    template: z.string(),
    aliases: z.array(z.string()),
    createdAt: timestamp,
    /** As in the spec; a schedule or an autoscaler may override it. */
    replicas: count,
    desired: count,
    ready: count,
    pending: count,
    inUse: count,
    conditions: z.array(condition),
  })
  .meta({ id: 'Pool' });
export type Pool = z.output<typeof pool>;

export const newPool = z
  .object({ name: objectName, template: reference, replicas: count.max(100_000).default(1) })
  .meta({ id: 'NewPool' });

export const poolChange = z.object({ replicas: count.max(100_000) }).meta({ id: 'PoolChange' });

export const template = z
  .object({
    namespace: z.string(),
    name: z.string(),
    aliases: z.array(z.string()),
    createdAt: timestamp,
    images: z.array(z.string()),
    runtime: z.boolean().meta({ description: 'Whether the daemon is put into its sandboxes.' }),
    cpuCount: count,
    memoryMB: count,
    diskSizeMB: count,
    pools: z.array(z.string()),
    conditions: z.array(condition),
  })
  .meta({ id: 'SandboxTemplate' });
export type TemplateView = z.output<typeof template>;

const delivered = z
  .object({
    name: z.string(),
    ready: z.boolean(),
    origin: z.enum(['Warm', 'Cold', 'Unknown']),
    podIPs: z.array(z.string()),
    /** Only of a claim of one sandbox. */
    ...outcome,
  })
  .meta({ id: 'DeliveredSandbox' });

export const claimEgress = z
  .object({
    refusals: z
      .array(
        z.object({
          protocol: z.string().meta({ description: 'dns, tls, http or connect.' }),
          host: z.string().meta({ description: 'A name, or * for all names beyond the first hundred.' }),
          port: count.optional(),
          reason: z.string(),
          count: count,
          last: timestamp,
        }),
      )
      .meta({ description: 'The newest first, of the last seven days, while the replicas that counted them run.' }),
    complete: z.boolean().meta({ description: 'False if a replica did not answer: counts may be too low.' }),
  })
  .meta({ id: 'ClaimEgress' });

export const claim = z
  .object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    createdAt: timestamp,
    pool: z.string().optional(),
    template: z.string().optional(),
    replicas: count,
    claimed: count,
    ready: count,
    phase: z.string(),
    message: z.string().optional(),
    shutdownTime: timestamp.optional(),
    sandboxes: z.array(delivered),
    conditions: z.array(condition),
  })
  .meta({ id: 'Claim' });
export type ClaimView = z.output<typeof claim>;

export const newClaim = z
  .object({
    name: objectName,
    pool: reference.optional(),
    template: reference.optional(),
    replicas: z.int().min(1).max(1_000).default(1),
    claimTimeout: duration.optional(),
    ttlSecondsAfterCompleted: z.int().min(0).max(2_147_483_647).optional().meta({
      deprecated: true,
      description: 'Refused: without the claim the holder of the key could not list or delete the sandboxes.',
    }),
    timeoutSeconds: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .optional()
      .meta({ description: 'How long the sandboxes live; default: as long as the key allows.' }),
    createOnNoStock: z.boolean().optional(),
    labels: strings.optional(),
  })
  .refine(
    ({ pool: from, template: by }) => (from === undefined) !== (by === undefined),
    'expected exactly one of pool and template',
  )
  .meta({ id: 'NewClaim' });
export type NewClaim = z.output<typeof newClaim>;

export const claimWait = scope.extend({
  wait: z
    .string()
    .regex(/^\d{1,2}$/)
    .transform(Number)
    .pipe(z.int().max(60))
    .optional()
    .meta({
      override: shownAs({ type: 'integer', minimum: 0, maximum: 60 }),
      description: 'Seconds to wait for it to be served.',
    }),
});

const apiKey = {
  id: z.string(),
  namespace: z.string(),
  team: z.string(),
  role: z.enum(roles),
  description: z.string(),
  limits: keyLimits,
  createdAt: z.string(),
};
export const keyView = z.object(apiKey).meta({ id: 'ApiKey' });
export const createdKey = z
  .object({ ...apiKey, key: z.string().meta({ description: 'The key itself, which is shown this once.' }) })
  .meta({ id: 'CreatedApiKey' });
export const newKey = z
  .object({
    namespace: dnsLabel,
    team: dnsLabel.optional().meta({ description: 'Default: as the namespace.' }),
    role: z.enum(roles).default('tenant'),
    description: z.string().max(256).default(''),
    limits: keyLimits.default({}),
  })
  .meta({ id: 'NewApiKey' });
export const keyParams = z.object({ id: z.string().min(1).max(64) });

export const health = z
  .object({ status: z.enum(['ok', 'starting']), synced: z.boolean(), bus: z.boolean(), version: z.string() })
  .meta({ id: 'Health' });

export const eventQuery = scope.extend({
  type: z
    .string()
    .regex(/^(\*|[a-z]+)(\.(\*|[a-z]+))*$/)
    .optional()
    .meta({ description: 'One type, such as claim.bound, or a kind with all its types: claim.*' }),
  since: z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .optional()
    .meta({
      override: shownAs({ type: 'integer', minimum: 0, maximum: 999_999 }),
      description: 'Begin with those of the last so many seconds; default with what comes.',
    }),
});

export const eventHeaders = z.object({
  'Last-Event-ID': z
    .string()
    // Not a regex check, which would become part of the OpenAPI document.
    .refine((text) => /^\d{1,15}$/.test(text), 'expected the id of an event')
    .transform(Number)
    .optional(),
});
