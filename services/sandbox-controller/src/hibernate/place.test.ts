// On which nodes a Pod may go on from a snapshot that the bucket has.
import { labels } from '@sandlot/api-types';
import type { SandboxSnapshotStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { getStep } from '../../test/builders.ts';
import type { PodParts } from '../../test/builders.ts';
import { acts, hibernation, later, markedPod, scene } from '../../test/hibernations.ts';
import { decide } from '../decide.ts';

const onNode = { key: 'metadata.name', operator: 'In', values: ['node-1'] };

describe('the Pod to restore from data that the bucket has', () => {
  const remote = { state: 'Uploaded', digest: 'sha256:1', at: later(-30) } as const;
  function place(status: SandboxSnapshotStatus, affinity: object = {}): object {
    const saved = hibernation();
    const spec = { podTemplate: { spec: { containers: [{ name: 'main' }], affinity } } };
    const mine = {
      ...saved,
      metadata: { ...saved.metadata, annotations: {} },
      status: { ...saved.status, ...status },
    };
    const { pod } = getStep(decide(scene({ spec, hibernations: [mine] })), 'createPod');
    return (pod.spec['affinity'] as { nodeAffinity: object }).nodeAffinity;
  }
  const likeNode = { key: labels.snapshotFingerprint, operator: 'In', values: ['abc'] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [likeNode] }] };

  it('goes to any node like the one that saved it, and to that one first', () => {
    expect(place({ remote, fingerprint: 'abc' })).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: required,
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: { matchFields: [onNode] } }],
    });
  });

  it('prefers no node that is gone', () => {
    expect(place({ remote, fingerprint: 'abc', nodeName: undefined })).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: required,
    });
  });

  it('keeps what its template requires and prefers', () => {
    const zone = { key: 'zone', operator: 'In', values: ['a'] };
    const preferred = [{ weight: 1, preference: { matchExpressions: [zone] } }];
    const given = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [zone] }, {}] },
        preferredDuringSchedulingIgnoredDuringExecution: preferred,
      },
    };
    expect(place({ remote, fingerprint: 'abc' }, given)).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [zone, likeNode] }] },
      preferredDuringSchedulingIgnoredDuringExecution: [
        ...preferred,
        { weight: 100, preference: { matchFields: [onNode] } },
      ],
    });
  });

  it.each(['Uploading', 'Failed'] as const)('stays on its node while the upload is %s', (state) => {
    expect(place({ remote: { ...remote, state }, fingerprint: 'abc' })).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [onNode] }] },
    });
  });
});

interface Parts {
  readonly conditions?: PodParts['conditions'];
  readonly created?: string;
  readonly remote?: SandboxSnapshotStatus['remote'];
}

describe('a Pod that was built for the one node that had the data', () => {
  const refused = [{ type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' }];
  const remote = { state: 'Uploaded', digest: 'sha256:1', at: later(-5) } as const;
  function look({ conditions = refused, created = later(-10), remote: now = remote }: Parts): string[] {
    const saved = hibernation();
    const { spec, ...pod } = markedPod('pod-2', 'saved-pod-1', { phase: 'Pending', conditions, created });
    const unscheduled = { ...pod, spec: { containers: spec.containers } };
    const uploaded = { ...saved, status: { ...saved.status, remote: now } };
    return acts(scene({ hibernations: [uploaded], ownedPods: [unscheduled] }));
  }

  it('is replaced when the bucket has the data and no node takes the Pod', () => {
    expect(look({})).toEqual(['delete Pod']);
  });

  it.each<readonly [string, Parts]>([
    ['while the upload runs', { remote: { ...remote, state: 'Uploading' } }],
    ['before the scheduler has refused it', { conditions: [] }],
    ['if it was built since', { created: later(-4) }],
  ])('is kept %s', (_what, parts) => {
    expect(look(parts)).toEqual([]);
  });
});
