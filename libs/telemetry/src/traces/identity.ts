import { hash } from 'node:crypto';
import { INVALID_SPANID, INVALID_TRACEID } from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace';
import type { IdGenerator } from '@opentelemetry/sdk-trace';
import { nameHash } from '@sandlot/std';

/** The form of UIDs from the API server. */
const UUID = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})([0-9a-f]{8})$/;

/**
 * The trace id for an object without a carried trace: its UID, which has 128 mostly random bits. Every process derives the same
 * id, and so can a person who looks for the trace of an object.
 */
export function buildTraceId(uid: string): string {
  const [, ...parts] = UUID.exec(uid) ?? [];
  const id = parts.join('');
  return id !== '' && id !== INVALID_TRACEID ? id : hash('sha256', uid).slice(0, 32);
}

/**
 * The span id of something that happens once to an object. It is derived, so that spans in every process can name a parent
 * that has not ended yet, and so that a span created twice after a crash is one span.
 */
export function getSpanId(uid: string, what: string): string {
  const [, , , , variant = '', node = '', rest = ''] = UUID.exec(uid) ?? [];
  // The random end of the UID mixed with the name; a digest is no better and takes ten times as long.
  const mixed = (Number.parseInt(nameHash(what), 16) ^ Number.parseInt(rest, 16)) >>> 0;
  const id = rest === '' ? '' : `${variant}${node}${mixed.toString(16).padStart(8, '0')}`;
  return id !== '' && id !== INVALID_SPANID ? id : hash('sha256', `${uid}/${what}`).slice(0, 16);
}

/** The ids of the next span. */
export interface PinnedIds {
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

const random = new RandomIdGenerator();
let pinned: PinnedIds = {};

/** Generates random ids, except for spans that {@link withIds} starts. */
export const idGenerator: IdGenerator = {
  generateTraceId: () => pinned.traceId ?? random.generateTraceId(),
  generateSpanId: () => pinned.spanId ?? random.generateSpanId(),
};

/** A random span id, also during {@link withIds}: that span may be its parent. */
export function createSpanId(): string {
  return random.generateSpanId();
}

/** Starts a span with these ids; `start` must start it synchronously. */
export function withIds<T>(ids: PinnedIds, start: () => T): T {
  pinned = ids;
  try {
    return start();
  } finally {
    pinned = {};
  }
}
