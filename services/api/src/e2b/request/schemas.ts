// What E2B clients send (docs/reference/e2b-api.md#create). Unknown fields are dropped.
import { z } from 'zod';
import { shownAs } from '../../openapi/shown-as.ts';
import { sandboxState, volumeMount } from '../answer/schemas.ts';
import { networkRules } from './header-rules.ts';

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
    rules: networkRules.nullish(),
  })
  .meta({ id: 'NetworkConfig' });

export const networkUpdate = networkRequest
  .omit({ allowPublicTraffic: true, maskRequestHost: true, httpsPorts: true })
  .extend({ allow_internet_access: z.boolean().nullish() })
  .meta({ id: 'NetworkUpdate' });

/** As many as a claim may have. */
const MOST_VOLUMES = 20;

const MOST_SERVERS = 64;

/**
 * What the client hands to the gateway in the sandbox. The settings may have credentials, so nothing of them is kept; the gateway
 * checks them (docs/reference/runtime.md#mcp-gateway).
 */
const mcpServers = z
  .record(z.string().min(1).max(253), z.looseObject({}))
  .refine((servers) => Object.keys(servers).length <= MOST_SERVERS, `expected at most ${MOST_SERVERS} servers`)
  .meta({ description: 'Servers of the MCP gateway by name, with their settings. The client starts it.' });

const newSandbox = {
  templateID: z.string().min(1).max(512).meta({ description: 'Name of a warm pool, or of a template.' }),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean().nullish() }).nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: networkRequest.nullish(),
  metadata: strings.nullish(),
  envVars: strings.nullish(),
  mcp: mcpServers.nullish(),
  iam: z.unknown().optional(),
  volumeMounts: z.array(volumeMount).max(MOST_VOLUMES, `expected at most ${MOST_VOLUMES} volumes`).nullish(),
};

/** Body of `POST /v2/sandboxes`. */
export const newSandboxV2 = z
  .object({ ...newSandbox, timeout: seconds.nullish().transform((given) => given ?? 300) })
  .meta({ id: 'NewSandboxV2' });

/** Body of `POST /sandboxes`. `secure` has no effect: sandboxes are always secured. */
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
  .object({
    memory: z.boolean().nullish().meta({ description: 'False keeps no memory.' }),
    requireHealthyGuest: z
      .boolean()
      .nullish()
      .meta({ description: 'True refuses to pause a sandbox whose daemon does not answer.' }),
  })
  .meta({ id: 'PauseSandbox' });

/** Query of `GET /v2/sandboxes`. */
export const listQuery = z.object({
  metadata: z.string().optional().meta({
    description: 'Pairs that must all match: form-encoded, keys and values percent-encoded before.',
  }),
  state: z
    .string()
    .transform((given) => given.split(','))
    .pipe(z.array(sandboxState))
    .optional()
    .meta({
      override: shownAs({ type: 'array', items: { type: 'string', enum: sandboxState.options } }),
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

/** Query of `GET /sandboxes`, which lists all running sandboxes. */
export const oldListQuery = listQuery.pick({ metadata: true });

const unixSeconds = z
  .string()
  .regex(/^\d{1,12}$/, 'expected whole Unix seconds')
  .transform(Number)
  .optional()
  .meta({ override: shownAs({ type: 'integer', minimum: 0 }), description: 'Unix seconds.' });
export const metricsQuery = z.object({ start: unixSeconds, end: unixSeconds });
export const severalMetricsQuery = z.object({
  sandbox_ids: z
    .string()
    .transform((text) => text.split(',').filter((id) => id !== ''))
    .pipe(z.array(z.string()).min(1, 'expected 1 to 100 ids'))
    .meta({
      override: shownAs({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 100 }),
      description: 'Ids of sandboxes, with commas between them. Those that the team does not have are left out.',
    }),
});

export const templateParams = z.object({ templateID: z.string().min(1).max(512) });
export const aliasParams = z.object({ alias: z.string().min(1).max(512) });
