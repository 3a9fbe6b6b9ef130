import { z } from 'zod';

/** The object an event is about. Consumers re-read it: an event says that something happened, never what is true now. */
const objectRef = { namespace: z.string(), name: z.string(), uid: z.string() };
const reason = { reason: z.string(), message: z.string().optional() };
const launchType = z.enum(['warm', 'cold', 'snapshot', 'unknown']);
const named = z.object({ name: z.string(), uid: z.string() });

const claim = z.object({ ...objectRef, pool: z.string().optional(), template: z.string().optional() });
const sandbox = z.object({
  ...objectRef,
  claim: named.optional(),
  pool: z.string().optional(),
  template: z.string().optional(),
});
const pool = z.object({
  ...objectRef,
  template: z.string().optional(),
  desired: z.number().int(),
  ready: z.number().int(),
});
const rollout = pool.extend({ templateHash: z.string() });

/** Data of every lifecycle event, version 1. Fields may be added; none changes meaning or goes away within a version. */
export const eventData = {
  'claim.submitted': claim,
  'claim.bound': claim.extend({ sandbox: named, launchType, bindMs: z.number().nonnegative().optional() }),
  'claim.failed': claim.extend(reason),
  'claim.expired': claim.extend(reason),
  'claim.completed': claim.extend({ sandbox: named.optional() }),
  'sandbox.created': sandbox.extend({ launchType: launchType.optional() }),
  'sandbox.ready': sandbox.extend({ podName: z.string().optional(), launchType: launchType.optional() }),
  'sandbox.suspended': sandbox.extend({ cause: z.string() }),
  'sandbox.resumed': sandbox,
  'sandbox.finished': sandbox.extend({ outcome: z.enum(['succeeded', 'failed']), ...reason }),
  'sandbox.expired': sandbox.extend(reason),
  'sandbox.deleted': sandbox.extend({ cause: z.string() }),
  'sandbox.wake.requested': sandbox.extend({ requestedBy: z.string().optional() }),
  'pool.depleted': pool,
  'pool.ready': pool,
  'pool.rollout.started': rollout,
  'pool.rollout.finished': rollout,
  'pool.stuck': pool.extend({ stuck: z.number().int(), ...reason }),
  'template.changed': z.object({ ...objectRef, generation: z.number().int() }),
} as const;

export type EventType = keyof typeof eventData;

/** Data of one event type. */
export type EventData = { readonly [T in EventType]: z.output<(typeof eventData)[T]> };

/** Whether `text` names an event of the catalogue. */
export function isEventType(text: string): text is EventType {
  return Object.hasOwn(eventData, text);
}

/** Every event type of the catalogue. */
export const eventTypes: readonly EventType[] = Object.keys(eventData).filter(isEventType);
