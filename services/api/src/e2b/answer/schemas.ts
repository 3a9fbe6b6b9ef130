// What E2B clients receive (docs/reference/e2b-api.md#read).
import { z } from 'zod';
import { networkRules } from '../request/header-rules.ts';

const strings = z.record(z.string(), z.string());
const timestamp = z.iso.datetime({ offset: true });

/** What became of the memory of a sandbox, as its Sandbox says it (docs/reference/sandbox.md#loss). */
export const outcome = {
  resumedFrom: z
    .enum(['Memory', 'Files', 'Volumes'])
    .optional()
    .meta({ description: 'What a sandbox that runs went on with after its last pause, if its template hibernates.' }),
  lost: z
    .object({ reason: z.string(), message: z.string(), at: timestamp })
    .optional()
    .meta({ description: 'What the sandbox was to keep and has lost, and why. Absent: nothing.' }),
};

/** The answer of create, connect and resume. */
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
    ...outcome,
  })
  .meta({ id: 'Sandbox' });
export type SandboxAnswer = z.output<typeof sandboxAnswer>;

export const sandboxState = z.enum(['running', 'paused']);

/** A volume of a sandbox, by its name. */
export const volumeMount = z
  .object({ name: z.string().max(1_024), path: z.string().max(4_096) })
  .meta({ id: 'VolumeMount' });

const listed = {
  templateID: z.string(),
  sandboxID: z.string(),
  clientID: z.string(),
  startedAt: timestamp,
  endAt: timestamp,
  cpuCount: z.int(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  state: sandboxState,
  envdVersion: z.string(),
  alias: z.string().optional(),
  metadata: strings.optional(),
  volumeMounts: z.array(volumeMount).optional().meta({ description: 'Absent: none.' }),
  envdUnresponsiveAtPause: z
    .boolean()
    .optional()
    .meta({ description: 'Paused although its daemon did not answer: only a connect with memory false resumes it.' }),
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
        rules: networkRules.optional(),
      })
      .optional(),
    lifecycle: z.object({ autoResume: z.boolean(), onTimeout: z.enum(['kill', 'pause']) }),
    pauseMode: z.enum(['full', 'filesystem']).optional(),
    ...outcome,
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

export const templateAnswer = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    buildStatus: z.enum(['waiting', 'building', 'ready', 'error']),
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
