import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import type { StreamConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import type { StreamSizing } from '../connection/options.ts';

const DAY_MS = 86_400_000;
const MEBIBYTE = 1024 * 1024;
/** The server drops a repeated Nats-Msg-Id in this window. Beyond it consumers dedupe by event id. */
const DUPLICATE_WINDOW_MS = 120_000;

export const EVENT_STREAM = 'SANDLOT_EVENTS';
/** The bucket with what sandboxes have used. */
export const USAGE_BUCKET = 'usage';
export const DEAD_LETTER_STREAM = 'SANDLOT_DEAD_LETTERS';

/** What events are about. */
const KINDS = ['claim', 'sandbox', 'pool', 'template', 'build', 'snapshot', 'audit'] as const;

/** The server's advisories about messages that a consumer could not handle. */
const ADVISORIES = ['MAX_DELIVERIES', 'MSG_TERMINATED'].map(
  (what) => `$JS.EVENT.ADVISORY.CONSUMER.${what}.${EVENT_STREAM}.>`,
);

/** The declared part of a stream's configuration; the server decides the rest. */
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

/** Name of the bucket's stream. It has the layout of a JetStream key-value bucket, so that `nats kv` can read it. */
export function formatBucketStream(bucket: string): string {
  return `KV_SANDLOT_${bucket.toUpperCase()}`;
}

/** Subject of a key in the bucket. */
export function formatBucketSubject(bucket: string, key: string): string {
  return `$KV.SANDLOT_${bucket.toUpperCase()}.${key}`;
}

/** Its oldest entries are the usage of past days, which nothing could derive again: a full bucket refuses new ones instead. */
const USAGE = { description: 'What sandboxes have used, by namespace and day', discard: DiscardPolicy.New };

/** The streams of the platform and the record buckets with these names, one per service. */
export function declareStreams(
  sizing: StreamSizing = {},
  buckets: readonly string[] = [],
): readonly StreamDeclaration[] {
  const common = {
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    num_replicas: sizing.replicas ?? 1,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
  };
  const maxAgeMs = sizing.maxAgeMs ?? 7 * DAY_MS;
  const maxAge = nanos(maxAgeMs);
  // The server refuses a window that is longer than the retention.
  const window = nanos(Math.min(DUPLICATE_WINDOW_MS, maxAgeMs));
  return [
    {
      ...common,
      name: EVENT_STREAM,
      description:
        'Lifecycle events of claims, sandboxes, pools, templates, builds and snapshots, and the audit log of the API',
      subjects: KINDS.map((kind) => `sandlot.*.${kind}.>`),
      max_age: maxAge,
      duplicate_window: window,
      max_bytes: sizing.maxBytes ?? 256 * MEBIBYTE,
      max_msgs_per_subject: -1,
    },
    {
      ...common,
      name: DEAD_LETTER_STREAM,
      description: 'Which events a consumer could not handle, as the server tells it',
      subjects: ADVISORIES,
      max_age: maxAge,
      duplicate_window: window,
      max_bytes: 16 * MEBIBYTE,
      max_msgs_per_subject: -1,
    },
    ...buckets.map((bucket) => ({
      ...common,
      ...(bucket === USAGE_BUCKET
        ? USAGE
        : { description: `Which events of each of the ${bucket} have been published` }),
      name: formatBucketStream(bucket),
      subjects: [formatBucketSubject(bucket, '>')],
      max_age: 0,
      // Beyond it the server drops the oldest records; their events may be published again, with the same ids.
      max_bytes: sizing.recordMaxBytes ?? 64 * MEBIBYTE,
      max_msgs_per_subject: 1,
    })),
  ];
}

/**
 * What to do about one stream. `fields` are changed in place and messages stay; `fixed` differ but cannot be changed while the
 * stream exists, so a person has to act.
 */
export type StreamStep =
  | { readonly kind: 'create' }
  | { readonly kind: 'keep' }
  | { readonly kind: 'update'; readonly fields: readonly string[]; readonly fixed: readonly string[] };

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
  const fixed = IMMUTABLE.filter((field) => declared[field] !== actual[field]);
  const changed: string[] = MUTABLE.filter((field) => declared[field] !== actual[field]);
  if (!hasSameMembers(declared.subjects, actual.subjects)) changed.push('subjects');
  return changed.length + fixed.length === 0 ? { kind: 'keep' } : { kind: 'update', fields: changed, fixed };
}

function hasSameMembers(a: readonly string[] = [], b: readonly string[] = []): boolean {
  return a.length === b.length && new Set([...a, ...b]).size === a.length;
}
