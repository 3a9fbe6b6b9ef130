import { eventTypes } from '@sandlot/bus';
import type { KubeObject } from '@sandlot/kube';
import { createOutbox } from '@sandlot/outbox';
import type { Outbox, OutboxOptions, Telling } from '@sandlot/outbox';
import { createOutboxMetrics } from '@sandlot/telemetry';
import type { ControllerParts } from './controller-parts.ts';

export interface OutboxInput<T extends KubeObject> extends Telling<T> {
  /** Kind of its events, as in `claim.bound`; the record is named after its plural. */
  readonly kind: 'claim' | 'sandbox' | 'pool' | 'template';
  readonly informer: OutboxOptions<T>['informer'];
}

/** What this process asks others for; no state says so. */
const WISHES: ReadonlySet<string> = new Set(['sandbox.wake.requested']);

/** Makes the outboxes of a controller: they publish while it leads and its caches show all there is. */
export function openOutboxes(parts: ControllerParts): <T extends KubeObject>(input: OutboxInput<T>) => Outbox<T> {
  const { bus, manager, clock, random, log, registry } = parts;
  const metrics = createOutboxMetrics(registry);
  return ({ kind, ...input }) =>
    createOutbox({
      ...input,
      name: kind === 'sandbox' ? 'sandboxes' : `${kind}s`,
      types: eventTypes.filter((type) => type.startsWith(`${kind}.`) && !WISHES.has(type)),
      bus,
      isActive: () => manager.isLeader() && manager.ready(),
      clock,
      random,
      log,
      metrics,
    });
}
