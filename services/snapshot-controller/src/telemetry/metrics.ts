import { findCondition, snapshotConditions, snapshotReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import type { Clock } from '@sandlot/std';

type CallKind = 'save' | 'copy' | 'restore';

/** What the snapshot-controller measures. Only statuses that this process wrote count, so that none counts twice. */
export interface SnapshotMetrics {
  onStatusWritten(before: SandboxSnapshot, after: SandboxSnapshot): void;
  /** Times a call to an agent. */
  measureCall<T>(kind: CallKind, work: () => Promise<T>): Promise<T>;
}

const RESTORE_STATES = ['Restored', 'Failed', 'Withdrawn'] as const;

export function createSnapshotMetrics(registry: MetricsRegistry, clock: Pick<Clock, 'monotonic'>): SnapshotMetrics {
  const registers = [registry];
  const saves = new Counter({
    name: 'sandlot_snapshot_saves_total',
    help: 'Saves that ended, by the reason of the condition Ready.',
    labelNames: ['reason'],
    registers,
  });
  const copies = new Counter({
    name: 'sandlot_snapshot_copies_total',
    help: 'Copies for the start of a Sandbox that ended, by the reason of the condition Ready.',
    labelNames: ['reason'],
    registers,
  });
  const restores = new Counter({
    name: 'sandlot_snapshot_restores_total',
    help: 'Restores that ended, by how.',
    labelNames: ['state'],
    registers,
  });
  const bytes = new Counter({ name: 'sandlot_snapshot_saved_bytes_total', help: 'Bytes that were saved.', registers });
  const running = new Gauge({
    name: 'sandlot_snapshot_calls_in_progress',
    help: 'Calls to agents that wait for a save, a copy or a restore.',
    labelNames: ['call'],
    registers,
  });
  const seconds = createLatencyHistogram({
    registry,
    name: 'sandlot_snapshot_call_seconds',
    help: 'Time until an agent had saved, copied or restored, or refused.',
    labelNames: ['call'],
  });
  for (const reason of Object.values(snapshotReasons)) for (const ended of [saves, copies]) ended.inc({ reason }, 0);
  for (const state of RESTORE_STATES) restores.inc({ state }, 0);
  return {
    onStatusWritten: (before, after) => {
      const isCopy = after.spec.copyOf !== undefined;
      const isOver = hasEnd(after) && !hasEnd(before);
      if (isOver) (isCopy ? copies : saves).inc({ reason: getReason(after) });
      if (isOver && !isCopy) bytes.inc(after.status?.sizeBytes ?? 0);
      const state = findRestoreEnd(after);
      if (state !== undefined && state !== findRestoreEnd(before)) restores.inc({ state });
    },
    measureCall: async (kind, work) => {
      const beganMs = clock.monotonic();
      running.inc({ call: kind });
      try {
        return await work();
      } finally {
        running.dec({ call: kind });
        seconds.observe({ call: kind }, (clock.monotonic() - beganMs) / 1_000);
      }
    },
  };
}

function hasEnd({ status }: SandboxSnapshot): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

function findRestoreEnd({ status }: SandboxSnapshot): string | undefined {
  const state = status?.restore?.state;
  return state === 'Announced' ? undefined : state;
}

function getReason({ status }: SandboxSnapshot): string {
  return findCondition(status?.conditions, snapshotConditions.ready)?.reason ?? '';
}
