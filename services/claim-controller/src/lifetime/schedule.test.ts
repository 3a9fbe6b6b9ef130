import type { Condition, SandboxClaim } from '@sandlot/api-types';
import { claim as buildClaim } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { at, batchSnapshot, NOW } from '../../test/snapshot.ts';
import { listDeadlines } from './schedule.ts';
import { decideBatch } from '../batch/decide-batch.ts';
import { decide } from '../decide.ts';
import type { Plan } from '../plan/plan.ts';
import { isDetached } from '../batch/mode.ts';

const condition = (type: string, reason: string, status: 'True' | 'False' = 'True'): Condition => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: at(0),
});
const finished = condition('Finished', 'PodSucceeded');
const expired = condition('Ready', 'ClaimExpired', 'False');

type Parts = Pick<Partial<SandboxClaim>, 'spec' | 'status'> & { readonly metadata?: SandboxClaim['metadata'] };

function claim({ metadata, ...parts }: { [K in keyof Parts]?: Partial<Parts[K]> }): SandboxClaim {
  return buildClaim({ name: 'job', metadata: { creationTimestamp: at(0), generation: 3, ...metadata }, ...parts });
}

const rows: readonly (readonly [string, Parameters<typeof claim>[0], readonly (readonly [string, number])[]])[] = [
  ['has no deadline by default', {}, []],
  ['ends at its shutdownTime', { spec: { lifecycle: { shutdownTime: at(5_000) } } }, [['shutdown', 5_000]]],
  [
    'ends some time after it finished',
    { spec: { lifecycle: { ttlSecondsAfterFinished: 9 } }, status: { conditions: [finished] } },
    [['ttl', 9_000]],
  ],
  ['does not end before it finished', { spec: { lifecycle: { ttlSecondsAfterFinished: 9 } } }, []],
  [
    'has both deadlines',
    {
      spec: { lifecycle: { shutdownTime: at(5_000), ttlSecondsAfterFinished: 9 } },
      status: { conditions: [finished] },
    },
    [
      ['shutdown', 5_000],
      ['ttl', 9_000],
    ],
  ],
  [
    'does not end again once its end is reported',
    { spec: { lifecycle: { shutdownTime: at(5_000) } }, status: { conditions: [expired], phase: 'Expired' } },
    [],
  ],
  ['gives up within a second of its time', { spec: { claimTimeout: '30s' } }, [['claim-timeout', 31_000]]],
  ['does not give up once served', { spec: { claimTimeout: '30s' }, status: { completionTime: at(1_000) } }, []],
  ['does not give up twice', { spec: { claimTimeout: '30s' }, status: { phase: 'Failed' } }, []],
  [
    'of a batch stops claiming a minute after it began',
    { spec: { replicas: 3 }, status: { mode: 'Detached', claimStartTime: at(2_000) } },
    [['claim-timeout', 62_000]],
  ],
  ['of a batch has no deadline before claiming begins', { spec: { replicas: 3 }, status: { mode: 'Detached' } }, []],
  [
    'of a batch is deleted some time after its completion',
    {
      spec: { replicas: 3, ttlSecondsAfterCompleted: 7 },
      status: { mode: 'Detached', claimStartTime: at(0), completionTime: at(1_000) },
    },
    [['retention', 8_000]],
  ],
  [
    'has no deadline while it is being deleted',
    { metadata: { deletionTimestamp: at(0) }, spec: { lifecycle: { shutdownTime: at(5_000) } } },
    [],
  ],
];

describe('a claim', () => {
  it.each(rows)('%s', (_, parts, due) => {
    const it = claim(parts);
    const named = { key: 'default/job', uid: it.metadata.uid, generation: 3 };
    expect(listDeadlines(it)).toEqual(
      due.map(([purpose, offsetMs]) => ({
        ...named,
        key: expect.stringMatching(/\/job$/) as string,
        purpose,
        dueAtMs: NOW + offsetMs,
      })),
    );
  });

  it.each(rows.filter(([, , due]) => due.length > 0))('%s, and the decisions agree', (_, parts) => {
    const it = claim(parts);
    const firstMs = Math.min(...listDeadlines(it).map(({ dueAtMs }) => dueAtMs));
    const [before, then] = [planAt(it, firstMs - 1), planAt(it, firstMs)];
    expect(before).toContainEqual(expect.objectContaining({ kind: 'wait', ms: 1 }));
    expect(then.map(({ kind }) => kind)).not.toEqual(before.map(({ kind }) => kind));
  });
});

/** The plan at a moment for a claim without a template, so that only deadlines matter. */
function planAt(it: SandboxClaim, nowMs: number): Plan {
  const snapshot = batchSnapshot({
    claim: it,
    source: { kind: 'missingTemplate', name: 'template' },
    nowMs,
    startMs: Date.parse(it.status?.claimStartTime ?? at(0)),
  });
  return isDetached(it) ? decideBatch(snapshot) : decide(snapshot);
}
