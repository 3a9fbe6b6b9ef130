import { hash } from 'node:crypto';
import { INVALID_SPANID, INVALID_TRACEID } from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace';
import type { IdGenerator } from '@opentelemetry/sdk-trace';
import { nameHash } from '@sandlot/std';

/** As API servers make UIDs. */
const UUID = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})([0-9a-f]{8})$/;

/**
 * Trace id of what happens to an object when nobody brought one: its UID, which is 128 bits and mostly random. Every
 * process arrives at the same without being told, and so does whoever looks for the trace of an object.
 */
export function traceIdOf(uid: string): string {
  const [, ...parts] = UUID.exec(uid) ?? [];
  const id = parts.join('');
  return id !== '' && id !== INVALID_TRACEID ? id : hash('sha256', uid).slice(0, 32);
}

/**
 * Span id of something that happens once to an object. Derived, so that spans can name a parent that has not ended yet,
 * in another process too, and so that a span made twice after a crash is one and the same.
 */
export function spanIdOf(uid: string, what: string): string {
  const [, , , , variant = '', node = '', rest = ''] = UUID.exec(uid) ?? [];
  // The random end of the UID, by what it is: a digest of both is as good and takes ten times as long.
  const mixed = (Number.parseInt(nameHash(what), 16) ^ Number.parseInt(rest, 16)) >>> 0;
  const id = rest === '' ? '' : `${variant}${node}${mixed.toString(16).padStart(8, '0')}`;
  return id !== '' && id !== INVALID_SPANID ? id : hash('sha256', `${uid}/${what}`).slice(0, 16);
}

/** The ids that the next span gets instead of random ones. */
export interface PinnedIds {
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

const random = new RandomIdGenerator();
let pinned: PinnedIds = {};

/** Random ids, but for spans that are started by {@link withIds}. */
export const idGenerator: IdGenerator = {
  generateTraceId: () => pinned.traceId ?? random.generateTraceId(),
  generateSpanId: () => pinned.spanId ?? random.generateSpanId(),
};

/** Also while a span is being started by {@link withIds}, of which this one may be the parent. */
export function randomSpanId(): string {
  return random.generateSpanId();
}

/** Starts a span with these ids; `start` has to start it before it returns. */
export function withIds<T>(ids: PinnedIds, start: () => T): T {
  pinned = ids;
  try {
    return start();
  } finally {
    pinned = {};
  }
}
