import { sandbox, snapshot } from '@sandlot/api-types/testing';
import type { SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import type { Manifest } from './agent/messages.ts';
import { decide } from './decide.ts';
import type { Scene } from './plan/scene.ts';

const NOW_MS = Date.UTC(2026, 0, 1, 12);
const EARLIER = '2026-01-01T11:00:00Z';
const owner = sandbox({ name: 'notebook' });
const source = { sandboxUID: 'uid-default-notebook', podName: 'notebook', podUID: 'uid-pod', nodeName: 'node-1' };
const present = { name: 'notebook', uid: 'uid-pod', nodeName: 'node-1' };

function scene(status: SandboxSnapshotStatus | undefined, parts: Partial<Scene> = {}): Scene {
  const spec = { whenSaved: 'StayPaused' } as const;
  return {
    nowMs: NOW_MS,
    object: snapshot({ name: 'notebook-1', sandbox: owner, spec, ...(status === undefined ? {} : { status }) }),
    snapshotClass: { metadata: { name: 'node' }, spec: {} },
    source: { sandbox: { uid: 'uid-default-notebook', hibernates: true, object: owner }, pod: present },
    isNodeGone: false,
    kept: { snapshots: 0, bytes: 0, isSaving: false },
    calls: {},
    pods: [],
    isRestorePodGone: false,
    ...parts,
  };
}

const kinds = (given: Scene): string[] => decide(given).steps.map(({ kind }) => kind);

const manifest = (podUid: string): Manifest => ({
  namespace: 'default',
  snapshotUid: 'uid-default-notebook-1',
  source: { sandboxUid: 'uid-default-notebook', podUid },
  machine: { runscVersion: '1', architecture: 'amd64', hash: 'abc' },
  bytes: 1,
  savedAt: EARLIER,
});

describe('a save', () => {
  it('begins with the finalizer, then the status, then the call', () => {
    expect(kinds(scene(undefined))).toEqual(['hold', 'status', 'save']);
  });

  it('that runs needs nothing', () => {
    expect(decide(scene({ phase: 'Saving', source }, { calls: { save: { state: 'running' } } }))).toEqual({
      steps: [],
    });
  });

  it('that a process knows nothing of is asked for again, with the same source', () => {
    const [step] = decide(scene({ phase: 'Saving', source })).steps;
    expect(step).toMatchObject({ kind: 'save', nodeName: 'node-1', request: { source: { podUID: 'uid-pod' } } });
  });

  it('of another Pod than was asked for is a failure', () => {
    const answered = { state: 'answered', value: manifest('uid-other'), endedMs: 0 } as const;
    const [step] = decide(scene({ phase: 'Saving', source }, { calls: { save: answered } })).steps;
    expect(step).toMatchObject({ status: { phase: 'Failed' } });
  });

  it('on a node that is gone fails at once', () => {
    const away = { state: 'away', message: 'no route', endedMs: NOW_MS, sinceMs: NOW_MS } as const;
    const gone = scene({ phase: 'Saving', source }, { calls: { save: away }, isNodeGone: true });
    expect(decide(gone).steps).toMatchObject([{ status: { phase: 'Failed' } }]);
  });
});

describe('a restore', () => {
  const ready = { phase: 'Ready', source, nodeName: 'node-1', savedAt: EARLIER } as const;
  const pod = (uid: string, changes: Partial<Pod['metadata']> = {}): Pod => ({
    metadata: {
      namespace: 'default',
      name: 'notebook',
      uid,
      annotations: { 'sandlot.dev/restore-snapshot': 'uid-default-notebook-1' },
      ownerReferences: [
        {
          apiVersion: 'agents.x-k8s.io/v1beta1',
          kind: 'Sandbox',
          name: 'notebook',
          uid: source.sandboxUID,
          controller: true,
        },
      ],
      ...changes,
    },
    spec: { containers: [], nodeName: 'node-1' },
    status: { phase: 'Pending' },
  });

  it('is written before it is announced', () => {
    expect(kinds(scene(ready, { pods: [pod('a')] }))).toEqual(['status', 'restore']);
  });

  it('is for one Pod, and the others are refused', () => {
    const plan = decide(scene(ready, { pods: [pod('a'), pod('b', { ownerReferences: [] })] }));
    expect(plan.steps).toMatchObject([
      { kind: 'status', status: { restore: { podUID: 'a', state: 'Announced' } } },
      { kind: 'restore', request: { podUID: 'a' } },
      { kind: 'refuse', pod: { metadata: { uid: 'b' } } },
    ]);
  });

  it('waits for no Pod that is being deleted', () => {
    expect(kinds(scene(ready, { pods: [pod('a', { deletionTimestamp: EARLIER })] }))).toEqual([]);
  });

  it('keeps its snapshot from expiring, and a Pod that is refused does not', () => {
    const past = { ...ready, expiresAt: EARLIER };
    const restore = { podName: 'notebook', podUID: 'a', nodeName: 'node-1', state: 'Announced', at: EARLIER } as const;
    const short = { snapshotClass: { metadata: {}, spec: { retention: { readySeconds: 1 } } } };
    const running = { calls: { restore: { state: 'running' } } } as const;
    expect(kinds(scene({ ...past, restore }, { ...short, ...running, pods: [pod('a')] }))).toEqual([]);
    expect(kinds(scene(past, { ...short, pods: [pod('b', { namespace: 'other' })] }))).toEqual(['refuse', 'delete']);
  });
});

describe('a deletion', () => {
  const deleted = (status: SandboxSnapshotStatus | undefined, parts: Partial<Scene> = {}): Scene => {
    const before = scene(status, parts);
    const metadata = {
      ...before.object.metadata,
      deletionTimestamp: EARLIER,
      finalizers: ['sandlot.dev/snapshot-data'],
    };
    return { ...before, object: { ...before.object, metadata } };
  };

  it.each<readonly [string, Scene, string[]]>([
    ['erases the data first', deleted({ phase: 'Ready', source }), ['erase']],
    [
      'lets the object go once the data is erased',
      deleted({ phase: 'Ready', source }, { calls: { erase: { state: 'answered', value: 'erased', endedMs: 0 } } }),
      ['release'],
    ],
    ['erases nothing that was never asked for', deleted(undefined), ['release']],
    ['waits for no node that is gone', deleted({ phase: 'Saving', source }, { isNodeGone: true }), ['release']],
  ])('%s', (_what, given, expected) => {
    expect(kinds(given)).toEqual(expected);
  });

  it('without the finalizer needs nothing', () => {
    const { object, ...rest } = deleted({ phase: 'Ready', source });
    expect(kinds({ ...rest, object: { ...object, metadata: { ...object.metadata, finalizers: [] } } })).toEqual([]);
  });
});
