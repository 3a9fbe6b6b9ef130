import { DiscardPolicy, JetStreamApiError, RetentionPolicy, StorageType, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamManager, StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Logger } from '@sandlot/std';
import type { StreamSizing } from './options.ts';

const DAY_MS = 86_400_000;
const MEBIBYTE = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 5_000;
const STREAM_NOT_FOUND = 10_059;
const NAME_IN_USE = 10_058;

export const EVENT_STREAM = 'SANDLOT_EVENTS';
export const DEAD_LETTER_STREAM = 'SANDLOT_DEAD_LETTERS';

/** What the server itself says of a message that a consumer could not handle. */
const ADVISORIES = ['MAX_DELIVERIES', 'MSG_TERMINATED'].map(
  (what) => `$JS.EVENT.ADVISORY.CONSUMER.${what}.${EVENT_STREAM}.>`,
);

/** The part of a stream's configuration that is declared here; everything else is left to the server. */
export type StreamDeclaration = Pick<
  StreamConfig,
  | 'name'
  | 'subjects'
  | 'retention'
  | 'storage'
  | 'discard'
  | 'num_replicas'
  | 'max_age'
  | 'max_bytes'
  | 'max_msgs_per_subject'
  | 'duplicate_window'
  | 'description'
>;

/** Name of the bucket's stream: laid out as a JetStream key-value bucket, so that `nats kv` reads it. */
export function bucketStream(bucket: string): string {
  return `KV_SANDLOT_${bucket.toUpperCase()}`;
}

/** Where the bucket keeps a key. */
export function bucketSubject(bucket: string, key: string): string {
  return `$KV.SANDLOT_${bucket.toUpperCase()}.${key}`;
}

/** The streams of the platform, and the record buckets of these names, which belong to one service each. */
export function declareStreams(
  sizing: StreamSizing = {},
  buckets: readonly string[] = [],
): readonly StreamDeclaration[] {
  const common = {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    num_replicas: sizing.replicas ?? 1,
    // The window in which the server drops a repeated Nats-Msg-Id; consumers dedupe by event id beyond it.
    duplicate_window: nanos(120_000),
  };
  const maxAge = nanos(sizing.maxAgeMs ?? 7 * DAY_MS);
  return [
    {
      ...common,
      name: EVENT_STREAM,
      description: 'Lifecycle events of claims, sandboxes, pools and templates',
      subjects: ['claim', 'sandbox', 'pool', 'template'].map((kind) => `sandlot.*.${kind}.>`),
      max_age: maxAge,
      max_bytes: sizing.maxBytes ?? 256 * MEBIBYTE,
      max_msgs_per_subject: -1,
    },
    {
      ...common,
      name: DEAD_LETTER_STREAM,
      description: 'Which events a consumer could not handle, as the server tells it',
      subjects: ADVISORIES,
      max_age: maxAge,
      max_bytes: 16 * MEBIBYTE,
      max_msgs_per_subject: -1,
    },
    ...buckets.map((bucket) => ({
      ...common,
      name: bucketStream(bucket),
      description: `Which events of each of the ${bucket} have been published`,
      subjects: [bucketSubject(bucket, '>')],
      max_age: 0,
      // Beyond it the oldest records go: their events are published again one day, under the same ids.
      max_bytes: sizing.recordMaxBytes ?? 64 * MEBIBYTE,
      max_msgs_per_subject: 1,
    })),
  ];
}

/** What to do about one stream. `conflict`: a field that cannot be changed differs, which a person has to resolve. */
export type StreamStep =
  | { readonly kind: 'create' }
  | { readonly kind: 'keep' }
  | { readonly kind: 'update'; readonly fields: readonly string[] }
  | { readonly kind: 'conflict'; readonly fields: readonly string[] };

const MUTABLE = [
  'description',
  'discard',
  'num_replicas',
  'max_age',
  'max_bytes',
  'max_msgs_per_subject',
  'duplicate_window',
] as const;
const IMMUTABLE = ['retention', 'storage'] as const;

/** Compares a declaration with what the server has. */
export function decideStream(declared: StreamDeclaration, actual: StreamDeclaration | undefined): StreamStep {
  if (actual === undefined) return { kind: 'create' };
  const conflicts = IMMUTABLE.filter((field) => declared[field] !== actual[field]);
  if (conflicts.length > 0) return { kind: 'conflict', fields: conflicts };
  const changed: string[] = MUTABLE.filter((field) => declared[field] !== actual[field]);
  if (!sameMembers(declared.subjects, actual.subjects)) changed.push('subjects');
  return changed.length === 0 ? { kind: 'keep' } : { kind: 'update', fields: changed };
}

function sameMembers(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === a.length;
}

/** Brings every declared stream into its declared shape. Throws when the server refuses or does not answer. */
export async function reconcileStreams(
  connection: NatsConnection,
  declarations: readonly StreamDeclaration[],
  log: Logger,
): Promise<void> {
  const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_TIMEOUT_MS });
  for (const declared of declarations) {
    const step = decideStream(declared, await readStream(manager, declared.name));
    await applyStep(manager, declared, step);
    if (step.kind === 'conflict') {
      log.error({ stream: declared.name, fields: step.fields }, 'stream differs in fields that cannot be changed');
    } else if (step.kind !== 'keep') {
      log.info({ stream: declared.name, step }, 'stream reconciled');
    }
  }
}

async function applyStep(manager: JetStreamManager, declared: StreamDeclaration, step: StreamStep): Promise<void> {
  switch (step.kind) {
    case 'create':
      await manager.streams.add(declared).catch(ignoreCode(NAME_IN_USE));
      return;
    case 'update':
      await manager.streams.update(declared.name, declared);
      return;
    case 'keep':
    case 'conflict':
      return;
  }
}

async function readStream(manager: JetStreamManager, name: string): Promise<StreamDeclaration | undefined> {
  const info = await manager.streams.info(name).catch(ignoreCode(STREAM_NOT_FOUND));
  return info?.config;
}

/** Another replica may create the same stream at the same moment: that one code is success. */
function ignoreCode(code: number): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof JetStreamApiError && error.code === code) return undefined;
    throw error;
  };
}
