// The E2B dialect on the wire (E2B contract, sections 2.3 and 2.4). Unknown fields of requests are dropped.
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';

const seconds = z.int().meta({ description: 'Seconds.' });
const strings = z.record(z.string(), z.string());
const timestamp = z.iso.datetime({ offset: true });

export const sandboxId = z.object({
  sandboxID: z.string().min(1).max(253).meta({ description: 'Id of the sandbox, as the create answered it.' }),
});

export const networkRequest = z
  .object({
    allowPublicTraffic: z.boolean().nullish(),
    allowOut: z.array(z.string()).nullish(),
    denyOut: z.array(z.string()).nullish(),
    dnsServers: z.array(z.string()).nullish(),
    egressProxy: z.unknown().optional(),
    maskRequestHost: z.string().nullish(),
    httpsPorts: z.array(z.int()).nullish(),
    rules: z.record(z.string(), z.unknown()).nullish(),
  })
  .meta({ id: 'NetworkConfig' });

export const networkUpdate = networkRequest
  .omit({ allowPublicTraffic: true, maskRequestHost: true, httpsPorts: true })
  .extend({ allow_internet_access: z.boolean().nullish() })
  .meta({ id: 'NetworkUpdate' });

const newSandbox = {
  templateID: z.string().min(1).max(512).meta({ description: 'Name of a warm pool, or of a template.' }),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean().nullish() }).nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: networkRequest.nullish(),
  metadata: strings.nullish(),
  envVars: strings.nullish(),
  mcp: z.unknown().optional(),
  iam: z.unknown().optional(),
  volumeMounts: z.array(z.unknown()).nullish(),
};

/** Of `POST /v2/sandboxes`. */
export const newSandboxV2 = z
  .object({ ...newSandbox, timeout: seconds.nullish().transform((given) => given ?? 300) })
  .meta({ id: 'NewSandboxV2' });

/** Of `POST /sandboxes`; `secure` is accepted, as sandboxes always are. */
export const newSandboxV1 = z
  .object({
    ...newSandbox,
    secure: z.boolean().nullish(),
    timeout: seconds.nullish().transform((given) => given ?? 15),
  })
  .meta({ id: 'NewSandbox' });

export type NewSandbox = z.output<typeof newSandboxV2>;

export const connectV2 = z
  .object({ timeout: seconds.nullish().transform((given) => given ?? 300), memory: z.boolean().nullish() })
  .meta({ id: 'ConnectSandboxV2' });
export const connectV1 = z.object({ timeout: seconds }).meta({ id: 'ConnectSandbox' });
export const resumeRequest = z
  .object({
    timeout: seconds.nullish().transform((given) => given ?? 15),
    autoPause: z.boolean().nullish(),
    memory: z.boolean().nullish(),
  })
  .meta({ id: 'ResumedSandbox' });
export const timeoutRequest = z.object({ timeout: seconds }).meta({ id: 'SandboxTimeout' });
export const refreshRequest = z.object({ duration: z.int().min(0).max(3600).nullish() }).meta({ id: 'SandboxRefresh' });
export const pauseRequest = z
  .object({ memory: z.boolean().nullish(), requireHealthyGuest: z.boolean().nullish() })
  .meta({ id: 'PauseSandbox' });

/** What create, connect and resume answer. */
export const sandboxAnswer = z
  .object({
    templateID: z.string(),
    sandboxID: z.string(),
    clientID: z.string(),
    envdVersion: z.string(),
    alias: z.string().optional(),
    envdAccessToken: z.string().optional(),
    trafficAccessToken: z.string().nullable(),
    domain: z.string().nullable(),
  })
  .meta({ id: 'Sandbox' });
export type SandboxAnswer = z.output<typeof sandboxAnswer>;

const state = z.enum(['running', 'paused']);
export type SandboxState = z.output<typeof state>;

const listed = {
  templateID: z.string(),
  sandboxID: z.string(),
  clientID: z.string(),
  startedAt: timestamp,
  endAt: timestamp,
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  state,
  envdVersion: z.string(),
  alias: z.string().optional(),
  metadata: strings.optional(),
};

export const listedSandbox = z.object(listed).meta({ id: 'ListedSandbox' });
export type ListedSandbox = z.output<typeof listedSandbox>;

export const sandboxDetail = z
  .object({
    ...listed,
    envdAccessToken: z.string().optional(),
    allowInternetAccess: z.boolean().nullable().optional(),
    domain: z.string().nullable().optional(),
    network: z
      .object({
        allowPublicTraffic: z.boolean(),
        allowOut: z.array(z.string()).optional(),
        denyOut: z.array(z.string()).optional(),
      })
      .optional(),
    lifecycle: z.object({ autoResume: z.boolean(), onTimeout: z.enum(['kill', 'pause']) }),
    pauseMode: z.enum(['full', 'filesystem']).optional(),
  })
  .meta({ id: 'SandboxDetail' });
export type SandboxDetail = z.output<typeof sandboxDetail>;

export const sandboxMetric = z
  .object({
    timestamp,
    timestampUnix: z.int(),
    cpuCount: z.int(),
    cpuUsedPct: z.number(),
    memUsed: z.int(),
    memTotal: z.int(),
    memCache: z.int(),
    diskUsed: z.int(),
    diskTotal: z.int(),
  })
  .meta({ id: 'SandboxMetric' });
export type SandboxMetric = z.output<typeof sandboxMetric>;

/** Of lists. */
export const listQuery = z.object({
  metadata: z.string().optional().meta({
    description: 'Pairs that must all match: form-encoded, keys and values percent-encoded before.',
  }),
  state: z
    .string()
    .transform((given) => given.split(','))
    .pipe(z.array(state))
    .optional()
    .meta({
      override: shownAs({ type: 'array', items: { type: 'string', enum: state.options } }),
      description: 'States to list; default both.',
    }),
  order: z.enum(['asc', 'desc']).default('desc').meta({ description: 'By start time.' }),
  startedAfter: timestamp.optional(),
  template: z.string().optional().meta({ description: 'Name of a pool or template.' }),
  limit: z
    .string()
    .regex(/^\d{1,3}$/, 'expected a whole number from 1 to 100')
    .transform(Number)
    .pipe(z.int().min(1).max(100))
    .default(100)
    .meta({ override: shownAs({ type: 'integer', minimum: 1, maximum: 100 }) }),
  nextToken: z.string().optional().meta({ description: 'Where the page before ended: its header x-next-token.' }),
});
export type ListQuery = z.output<typeof listQuery>;

/** Of the older list: running sandboxes only, all of them. */
export const oldListQuery = listQuery.pick({ metadata: true });

const unixSeconds = z
  .string()
  .regex(/^\d{1,12}$/, 'expected whole Unix seconds')
  .optional()
  .meta({ override: shownAs({ type: 'integer', minimum: 0 }), description: 'Unix seconds.' });
export const metricsQuery = z.object({ start: unixSeconds, end: unixSeconds });

export const templateParams = z.object({ templateID: z.string().min(1).max(512) });
export const aliasParams = z.object({ alias: z.string().min(1).max(512) });

export const templateAnswer = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    buildStatus: z.literal('ready'),
    buildCount: z.int(),
    cpuCount: z.int(),
    memoryMB: z.int(),
    diskSizeMB: z.int(),
    public: z.boolean(),
    aliases: z.array(z.string()),
    names: z.array(z.string()),
    createdAt: timestamp,
    updatedAt: timestamp,
    createdBy: z.null(),
    lastSpawnedAt: z.null(),
    spawnCount: z.int(),
    envdVersion: z.string(),
  })
  .meta({ id: 'Template' });
export type TemplateAnswer = z.output<typeof templateAnswer>;

export const aliasAnswer = z.object({ templateID: z.string(), public: z.boolean() }).meta({ id: 'TemplateAlias' });

export const errorAnswer = z
  .object({ code: z.int(), message: z.string(), error_code: z.string().optional() })
  .meta({ id: 'Error' });
