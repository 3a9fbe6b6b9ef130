import { findCondition, snapshotConditions, snapshotReasons } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { createLatencyHistogram } from '@sandlot/telemetry';
import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter, Gauge } from 'prom-client';
import type { Clock } from '@sandlot/std';

const CALL_KINDS = ['save', 'copy', 'restore', 'upload', 'download'] as const;
const UPLOAD_STATES = ['Uploaded', 'Failed'] as const;
const DOWNLOAD_RESULTS = ['done', 'failed'] as const;
const RESTORE_STATES = ['Restored', 'Failed', 'Withdrawn'] as const;
type CallKind = (typeof CALL_KINDS)[number];

/** What the snapshot-controller measures. Only statuses that this process wrote count, so that none counts twice. */
export interface SnapshotMetrics {
  onStatusWritten(before: SandboxSnapshot, after: SandboxSnapshot): void;
  countDownload(result: (typeof DOWNLOAD_RESULTS)[number]): void;
  /** Times a call to an agent. */
  measureCall<T>(kind: CallKind, work: () => Promise<T>): Promise<T>;
}

export function createSnapshotMetrics(registry: MetricsRegistry, clock: Pick<Clock, 'monotonic'>): SnapshotMetrics {
  const registers = [registry];
  const count = <T extends string>(name: string, help: string, label: T): Counter<T> =>
    new Counter({ name: `sandlot_snapshot_${name}_total`, help, labelNames: [label], registers });
  const saves = count('saves', 'Saves that ended, by the reason of the condition Ready.', 'reason');
  const copies = count('copies', 'Copies for starts of Sandboxes that ended, by the reason of Ready.', 'reason');
  const restores = count('restores', 'Restores that ended, by how.', 'state');
  const uploads = count(
    'uploads',
    'Uploads that ended, by how. Those of one that is tried again count as one.',
    'state',
  );
  const downloads = count('downloads', 'Downloads for a restore that ended, by how. Each attempt counts.', 'result');
  const bytes = new Counter({ name: 'sandlot_snapshot_saved_bytes_total', help: 'Bytes that were saved.', registers });
  const running = new Gauge({
    name: 'sandlot_snapshot_calls_in_progress',
    help: 'Calls to agents that wait for a save, a copy, a restore or a transfer of the bucket.',
    labelNames: ['call'],
    registers,
  });
  const seconds = createLatencyHistogram({
    registry,
    name: 'sandlot_snapshot_call_seconds',
    help: 'Time until an agent had saved, copied, restored or transferred, or refused.',
    labelNames: ['call'],
  });
  for (const reason of Object.values(snapshotReasons)) for (const ended of [saves, copies]) ended.inc({ reason }, 0);
  for (const state of RESTORE_STATES) restores.inc({ state }, 0);
  for (const state of UPLOAD_STATES) uploads.inc({ state }, 0);
  for (const result of DOWNLOAD_RESULTS) downloads.inc({ result }, 0);
  for (const call of CALL_KINDS) running.set({ call }, 0);
  return {
    onStatusWritten: (before, after) => {
      if (hasEnd(after) && !hasEnd(before)) {
        (isCopy(after) ? copies : saves).inc({ reason: getReason(after) });
        bytes.inc(countSavedBytes(after));
      }
      const state = findRestoreEnd(after);
      if (state !== undefined && state !== findRestoreEnd(before)) restores.inc({ state });
      const upload = findUploadEnd(after);
      if (upload !== undefined && upload !== findUploadEnd(before)) uploads.inc({ state: upload });
    },
    countDownload: (result) => downloads.inc({ result }),
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

export function measureSilentNodes(registry: MetricsRegistry, count: () => number): void {
  new Gauge({
    name: 'sandlot_snapshot_silent_nodes',
    help: 'Nodes whose agent did not answer when it was last asked; 0 on a standby.',
    registers: [registry],
    collect() {
      this.set(count());
    },
  });
}

function isCopy({ spec }: SandboxSnapshot): boolean {
  return spec.copyOf !== undefined;
}

/** A copy shares the bytes of its source. */
function countSavedBytes(after: SandboxSnapshot): number {
  return isCopy(after) ? 0 : (after.status?.sizeBytes ?? 0);
}

function hasEnd({ status }: SandboxSnapshot): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

function findRestoreEnd({ status }: SandboxSnapshot): string | undefined {
  const state = status?.restore?.state;
  return state === 'Announced' ? undefined : state;
}

/** A copy has no upload of its own. */
function findUploadEnd(snapshot: SandboxSnapshot): string | undefined {
  const state = isCopy(snapshot) ? undefined : snapshot.status?.remote?.state;
  return state === 'Uploading' ? undefined : state;
}

function getReason({ status }: SandboxSnapshot): string {
  return findCondition(status?.conditions, snapshotConditions.ready)?.reason ?? '';
}
