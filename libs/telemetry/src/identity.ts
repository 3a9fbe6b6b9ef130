import { hash } from 'node:crypto';
import { INVALID_TRACEID } from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace';
import type { IdGenerator } from '@opentelemetry/sdk-trace';

const TRACE_ID = /^[0-9a-f]{32}$/;

/**
 * Trace id of what happens to an object when nobody brought one: its UID, which is 128 bits and mostly random. Every
 * process arrives at the same without being told, and so does whoever looks for the trace of an object.
 */
export function traceIdOf(uid: string): string {
  const id = uid.replaceAll('-', '').toLowerCase();
  return TRACE_ID.test(id) && id !== INVALID_TRACEID ? id : hash('sha256', uid).slice(0, 32);
}

/**
 * Span id of something that happens once to an object. Derived, so that spans can name a parent that has not ended yet,
 * in another process too, and so that a span made twice after a crash is one and the same.
 */
export function spanIdOf(uid: string, what: string): string {
  return hash('sha256', `${uid}/${what}`).slice(0, 16);
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

/** Starts a span with these ids; `start` has to start it before it returns. */
export function withIds<T>(ids: PinnedIds, start: () => T): T {
  pinned = ids;
  try {
    return start();
  } finally {
    pinned = {};
  }
}
