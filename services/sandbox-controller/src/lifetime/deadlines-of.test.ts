import type { Condition, Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { listDeadlines } from './deadlines.ts';
import { requeueAtMs } from './decide-requeue.ts';
import { NOW, NOW_MS, notebook, makePod, buildSnapshot } from '../../test/builders.ts';

const at = (seconds: number): string => new Date(NOW_MS + seconds * 1_000).toISOString();
const condition = (type: string, reason: string, status: 'True' | 'False' = 'True'): Condition => ({
  type,
  status,
  reason,
  message: '',
  observedGeneration: 1,
  lastTransitionTime: NOW,
});

type Parts = NonNullable<Parameters<typeof notebook>[0]>;
const expired = condition('Ready', 'SandboxExpired', 'False');
const active = { startedAt: NOW, lastActivityTime: NOW };

const rows: readonly (readonly [string, Parts, readonly (readonly [string, number])[]])[] = [
  ['has none by default', {}, []],
  ['expires at its shutdownTime', { spec: { shutdownTime: at(60) } }, [['shutdown', 60]]],
  ['expires after its time to live', { spec: { ttlSeconds: 90 }, status: active }, [['ttl', 90]]],
  [
    'expires after the earlier of both times to live',
    {
      spec: { ttlSeconds: 90, ttlSecondsAfterFinished: 5 },
      status: { ...active, conditions: [condition('Finished', 'PodSucceeded')] },
    },
    [['ttl', 5]],
  ],
  ['expires only once', { spec: { shutdownTime: at(-5) }, status: { conditions: [expired] } }, []],
  [
    'expires again when its deadline was moved',
    { spec: { shutdownTime: at(60) }, status: { conditions: [expired] } },
    [['shutdown', 60]],
  ],
  [
    'is suspended and deleted when it is unused',
    { spec: { idle: { suspendAfterSeconds: 60, deleteAfterSeconds: 600 } }, status: active },
    [
      ['idle', 60],
      ['retention', 600],
    ],
  ],
  [
    'is not suspended twice',
    {
      spec: { idle: { suspendAfterSeconds: 60, deleteAfterSeconds: 600 }, operatingMode: 'Suspended' },
      status: { ...active, phase: 'Suspended' },
    },
    [['retention', 600]],
  ],
  [
    'is idle from the last report of activity',
    {
      metadata: { annotations: { 'sandlot.dev/last-activity-at': at(-10) } },
      spec: { idle: { suspendAfterSeconds: 60 } },
      status: { ...active, lastActivityTime: at(-30) },
    },
    [['idle', 50]],
  ],
  ['that has never been Ready is not idle', { spec: { idle: { suspendAfterSeconds: 60 } } }, []],
  ['that is being deleted has none', { metadata: { deletionTimestamp: NOW }, spec: { shutdownTime: at(60) } }, []],
];

describe('a Sandbox', () => {
  it.each(rows)('%s', (_, parts, due) => {
    const sandbox: Sandbox = notebook(parts);
    const { uid, generation = 0 } = sandbox.metadata;
    expect(listDeadlines({ sandbox, nowMs: NOW_MS })).toEqual(
      due.map(([purpose, seconds]) => ({
        key: 'team-a/notebook',
        uid,
        generation,
        purpose,
        dueAtMs: NOW_MS + seconds * 1_000,
      })),
    );
  });

  it.each(rows.filter(([, , due]) => due.length > 0))('%s, and its timer is no later', (_, parts) => {
    const sandbox = notebook(parts);
    const snapshot = buildSnapshot({ sandbox, ownedPods: [makePod(sandbox)] });
    const first = Math.min(...listDeadlines(snapshot).map(({ dueAtMs }) => dueAtMs));
    expect(requeueAtMs(snapshot)).toBeLessThanOrEqual(first);
  });
});
