import { eventTypes, USAGE_BUCKET } from '@sandlot/bus';
import type { EventType } from '@sandlot/bus';
import type { KubeObject } from '@sandlot/kube';
import { createOutbox } from '@sandlot/outbox';
import type { Outbox, OutboxOptions, FactSource } from '@sandlot/outbox';
import { createOutboxMetrics } from '@sandlot/telemetry';
import type { ControllerParts } from './controller-parts.ts';

export interface OutboxInput<T extends KubeObject> extends FactSource<T> {
  /** Prefix of the event types, as in `claim.bound`; of snapshots also events of their Sandboxes. The plural is the name of the record. */
  readonly kind: keyof typeof LEDGERS;
  readonly informer: OutboxOptions<T>['informer'];
}

/** Name of the record of each kind. */
const LEDGERS = {
  claim: 'claims',
  sandbox: 'sandboxes',
  pool: 'pools',
  template: 'templates',
  snapshot: 'snapshots',
  build: 'builds',
} as const;

/** Names of the records of all controllers, and of the ledger of usage. */
export const ledgerNames: readonly string[] = [...Object.values(LEDGERS), USAGE_BUCKET];

/** Event types that are requests to other processes. They do not follow from the state of an object. */
const REQUEST_TYPES: ReadonlySet<string> = new Set(['sandbox.wake.requested']);

/** Events of Sandboxes that follow from their SandboxSnapshots. */
const BY_SNAPSHOT: ReadonlySet<EventType> = new Set([
  'sandbox.hibernated',
  'sandbox.restored',
  'sandbox.restore.failed',
]);

function belongsTo(kind: keyof typeof LEDGERS, type: EventType): boolean {
  if (BY_SNAPSHOT.has(type)) return kind === 'snapshot';
  return type.startsWith(`${kind}.`) && !REQUEST_TYPES.has(type);
}

/**
 * Creates outboxes for a controller. They publish while it leads and its caches are synced. The holder of the first shard
 * publishes for all shards: facts derive from objects, which every replica sees.
 */
export function openOutboxes(parts: ControllerParts): <T extends KubeObject>(input: OutboxInput<T>) => Outbox<T> {
  const { bus, manager, clock, random, log, registry } = parts;
  const metrics = createOutboxMetrics(registry);
  return ({ kind, ...input }) =>
    createOutbox({
      ...input,
      name: LEDGERS[kind],
      types: eventTypes.filter((type) => belongsTo(kind, type)),
      bus,
      isActive: () => manager.isLeader() && manager.isReady(),
      clock,
      random,
      log,
      metrics,
    });
}
