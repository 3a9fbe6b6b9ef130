import type { CloudEvent, EventData, EventType } from '@sandlot/bus';
import { deriveUuid, formatTeamId } from './derived-id.ts';

/** The types of E2B's events, in the order of a sandbox's life. */
export const sandboxEventTypes = [
  'sandbox.lifecycle.created',
  'sandbox.lifecycle.updated',
  'sandbox.lifecycle.paused',
  'sandbox.lifecycle.resumed',
  'sandbox.lifecycle.checkpointed',
  'sandbox.lifecycle.killed',
] as const;
export type SandboxEventType = (typeof sandboxEventTypes)[number];

/** An event as clients of E2B know it (docs/reference/e2b-api.md#events). */
export interface SandboxEvent {
  readonly id: string;
  readonly version: 'v2';
  readonly type: SandboxEventType;
  /** The first and last word of the type, as earlier versions of E2B had them. */
  readonly eventCategory: string;
  readonly eventLabel: string;
  /** RFC 3339. */
  readonly timestamp: string;
  readonly eventData: Readonly<Record<string, unknown>> | null;
  readonly sandboxId: string;
  readonly sandboxExecutionId: string;
  readonly sandboxTemplateId: string;
  readonly sandboxBuildId: string;
  readonly sandboxTeamId: string;
}

/** Which event of ours is which one of E2B's. */
const SOURCES = {
  'claim.bound': 'sandbox.lifecycle.created',
  'claim.extended': 'sandbox.lifecycle.updated',
  'claim.suspended': 'sandbox.lifecycle.paused',
  'claim.resumed': 'sandbox.lifecycle.resumed',
  'claim.deleted': 'sandbox.lifecycle.killed',
  'snapshot.ready': 'sandbox.lifecycle.checkpointed',
} as const satisfies Partial<Record<EventType, SandboxEventType>>;

type Source = keyof typeof SOURCES;
type SourceEvent = { readonly [T in Source]: CloudEvent<T> }[Source];
type Client = Partial<NonNullable<EventData['claim.bound']['client']>> & {
  readonly id: string;
  readonly template: string;
};

/** The event of ours from which E2B's of that type follows. */
export function getSourceType(type: SandboxEventType): Source {
  const found = Object.entries(SOURCES).find(([, named]) => named === type);
  return found?.[0] as Source;
}

/** The event as clients of E2B see it; undefined for one that is not about a sandbox of such a client. */
export function toSandboxEvent(event: CloudEvent): SandboxEvent | undefined {
  if (!isSource(event)) return undefined;
  const { namespace } = event.data;
  const client: Client | undefined = event.data.client;
  if (client === undefined) return undefined;
  const type = SOURCES[event.type];
  const [eventCategory = '', , eventLabel = ''] = type.split('.');
  return {
    id: deriveUuid('event', event.id),
    version: 'v2',
    type,
    eventCategory,
    eventLabel,
    timestamp: event.time,
    eventData: buildData(event, client),
    sandboxId: client.id,
    // Ids of sandboxes are never used again. A SandboxSnapshot knows no resume: its event names the first run.
    sandboxExecutionId: deriveUuid('run', [namespace, client.id, client.resumedAt ?? ''].join('/')),
    sandboxTemplateId: client.template,
    sandboxBuildId: deriveUuid('template', `${namespace}/${client.template}`),
    sandboxTeamId: formatTeamId(namespace),
  };
}

function isSource(event: CloudEvent): event is SourceEvent {
  return Object.hasOwn(SOURCES, event.type);
}

const KILL_REASONS = { user: 'request', expiry: 'timeout', unknown: 'unknown' } as const;

function buildData(event: SourceEvent, client: Client): SandboxEvent['eventData'] {
  const { metadata } = client;
  const common = metadata === undefined ? {} : { sandbox_metadata: metadata };
  switch (event.type) {
    case 'claim.extended':
      return { ...common, set_timeout: event.data.endAt };
    case 'claim.suspended':
      return { ...common, ...buildExecution(client) };
    case 'claim.deleted':
      return { ...common, ...buildExecution(client), kill_reason: KILL_REASONS[event.data.cause] };
    case 'claim.bound':
    case 'claim.resumed':
    case 'snapshot.ready':
      return metadata === undefined ? null : common;
  }
}

function buildExecution({ startedAt, runMs, cpuCount, memoryMB }: Client): object {
  if (startedAt === undefined) return {};
  return {
    execution: {
      started_at: startedAt,
      ...(cpuCount === undefined ? {} : { vcpu_count: cpuCount }),
      ...(memoryMB === undefined ? {} : { memory_mb: memoryMB }),
      ...(runMs === undefined ? {} : { execution_time: runMs }),
    },
  };
}
