import { annotations } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { conditionSummary, findMessage, getStep, MOUNTED_RUNTIME, published, RUNTIME } from '../../test/builders.ts';
import {
  acts,
  hibernation,
  KEEP_RUNNING,
  later,
  markedPod,
  podOf,
  scene,
  sleeper,
  SUSPENDED,
} from '../../test/hibernations.ts';
import { decide } from '../decide.ts';
import type { Snapshot } from '../plan/snapshot.ts';

const POD = podOf('pod-1');
/** A Sandbox to be suspended whose Pod runs. */
const falling = (hibernations: readonly SandboxSnapshot[] = [], spec = {}): Snapshot =>
  scene({ spec: { ...SUSPENDED, ...spec }, ownedPods: [POD], hibernations });

/** Its spec was edited, and no status shows that yet. */
const unseen = (snapshot: Snapshot): Snapshot => ({ ...snapshot, sandbox: { ...snapshot.sandbox, status: {} } });

type Row = readonly [sentence: string, snapshot: Snapshot, acts: readonly string[]];

describe('a Sandbox to be suspended', () => {
  const under = (phase: 'Pending' | 'Saving'): SandboxSnapshot => hibernation({ phase });
  const failed = hibernation({ phase: 'Failed', says: ['NoSpace', 'the node is full'] });
  const rows: readonly Row[] = [
    ['is saved first', falling(), ['save pod-1']],
    ['waits until the save begins', falling([under('Pending')]), []],
    ['waits while it is being saved', falling([under('Saving')]), []],
    ['waits for a save that nothing has looked at yet', falling([{ ...under('Pending'), status: undefined }]), []],
    ['loses its Pod once that is saved', falling([hibernation()]), ['delete frozen Pod']],
    [
      'does not take the save of another Pod for its own',
      falling([hibernation({ of: 'pod-0', created: later(0) })]),
      ['save pod-1'],
    ],
    [
      'waits for the end of a save that is being cancelled',
      falling([hibernation({ phase: 'Saving', terminating: true })]),
      [],
    ],
    ['waits for the end of a complete save that somebody deletes', falling([hibernation({ terminating: true })]), []],
    [
      'is saved again if the failure is older than the edit that suspends it',
      unseen(falling([failed])),
      ['drop saved-pod-1'],
    ],
    ['keeps a complete save that is older than that', unseen(falling([hibernation()])), ['delete frozen Pod']],
    ['is stopped when the save fails', falling([failed]), ['delete Pod', 'Event HibernationFailed']],
    [
      'is kept when the save fails and its owner wants that',
      falling([failed], KEEP_RUNNING),
      ['Event HibernationFailed'],
    ],
    ['is saved again once the failed attempt is gone', falling([], KEEP_RUNNING), ['save pod-1']],
    ['is stopped at once by the strategy Stop', falling([], { suspensionStrategy: { type: 'Stop' } }), ['delete Pod']],
    ['is stopped at once without a strategy', falling([], { suspensionStrategy: undefined }), ['delete Pod']],
    [
      'has a save dropped whose strategy turns to Stop',
      falling([under('Saving')], { suspensionStrategy: { type: 'Stop' } }),
      ['drop saved-pod-1'],
    ],
    [
      'keeps the save of a Pod that stands still until the Pod goes, also by the strategy Stop',
      falling([hibernation()], { suspensionStrategy: { type: 'Stop' } }),
      ['delete Pod'],
    ],
    [
      'is not saved before it has started',
      scene({ spec: SUSPENDED, ownedPods: [podOf('pod-1', { phase: 'Pending' })] }),
      ['delete Pod'],
    ],
    [
      'is not saved after it ended',
      scene({ spec: SUSPENDED, ownedPods: [podOf('pod-1', { phase: 'Failed' })] }),
      ['delete Pod'],
    ],
    [
      'says what is lost when the Pod ends while it is being saved',
      scene({
        spec: { ...SUSPENDED, ...KEEP_RUNNING },
        ownedPods: [podOf('pod-1', { phase: 'Failed' })],
        hibernations: [under('Saving')],
      }),
      ['delete Pod', 'Event HibernationFailed'],
    ],
    [
      'has lost nothing when the Pod ends after it was saved',
      scene({ spec: SUSPENDED, ownedPods: [podOf('pod-1', { phase: 'Failed' })], hibernations: [hibernation()] }),
      ['delete frozen Pod'],
    ],
    [
      'waits for a Pod that is going already',
      scene({ spec: SUSPENDED, ownedPods: [podOf('pod-1', { terminating: true })] }),
      [],
    ],
    [
      'touches none of several Pods',
      scene({ spec: SUSPENDED, ownedPods: [POD, podOf('pod-2')], hibernations: [hibernation()] }),
      ['Event MultiplePods'],
    ],
    [
      'drops older memories beside its Pod',
      falling([hibernation({ of: 'pod-0', created: later(-9_999) })]),
      ['drop saved-pod-0'],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('that is saved again has lost nothing of its first save, whose Pod the cache does not show', () => {
    const unseen = hibernation({ of: 'pod-9', created: later(0) });
    expect(acts(falling([unseen, hibernation()]))).toEqual(['delete frozen Pod']);
  });
});

describe('the condition Suspended', () => {
  const failed = hibernation({ phase: 'Failed', says: ['NoSpace', 'the node is full'] });
  it.each<readonly [string, Snapshot, string]>([
    ['before the save', falling(), 'Suspended=False/Hibernating'],
    ['during the save', falling([hibernation({ phase: 'Saving' })]), 'Suspended=False/Hibernating'],
    [
      'of a save that is being cancelled',
      falling([hibernation({ phase: 'Saving', terminating: true })]),
      'Suspended=False/Hibernating',
    ],
    ['of a Pod that is kept', falling([failed], KEEP_RUNNING), 'Suspended=False/HibernationFailed'],
    ['of a Pod that is stopped', falling([failed]), 'Suspended=False/PodTerminating'],
    ['of a saved Pod', falling([hibernation()]), 'Suspended=False/PodTerminating'],
    [
      'of a Pod that goes',
      scene({ spec: SUSPENDED, ownedPods: [podOf('pod-1', { terminating: true })] }),
      'Suspended=False/PodTerminating',
    ],
    ['after it', scene({ spec: SUSPENDED, hibernations: [hibernation()] }), 'Suspended=True/PodTerminated'],
  ])('%s', (_, snapshot, wanted) => {
    expect(conditionSummary(snapshot)).toContain(wanted);
    expect(conditionSummary(snapshot).map((text) => text.split('=')[0])).toEqual(
      snapshot.ownedPods.length === 0 ? ['Ready', 'Suspended'] : ['PodScheduled', 'Ready', 'Suspended'],
    );
  });

  it('has the words of the snapshot-controller', () => {
    expect(findMessage(falling([failed], KEEP_RUNNING), 'Suspended')).toContain('the node is full');
  });
});

describe('a hibernation that the controller refuses', () => {
  const inject = { ...KEEP_RUNNING, runtime: { inject: true } };
  const why = (snapshot: Snapshot): string => findMessage(snapshot, 'Suspended') ?? '';

  it('without the snapshot-controller', () => {
    const off = { ...falling([], KEEP_RUNNING), settings: { ...falling().settings, snapshotsEnabled: false } };
    expect(acts(off)).toEqual(['Event HibernationFailed']);
    expect(why(off)).toContain('hibernation.enabled');
  });

  it('because an init container would bring the daemon', () => {
    const installed = scene({ spec: { ...SUSPENDED, ...inject }, ownedPods: [POD], settings: { runtime: RUNTIME } });
    expect(acts(installed)).toEqual(['Event HibernationFailed']);
    expect(why(installed)).toContain('runtime.delivery to ImageVolume');
  });

  it('because an init container brought the daemon of this Pod', () => {
    const status = { ...POD.status, initContainerStatuses: [{ name: 'sandlot-runtime-install' }] };
    const scenery = { spec: { ...SUSPENDED, ...inject }, settings: { runtime: MOUNTED_RUNTIME } };
    const installed = scene({ ...scenery, ownedPods: [{ ...POD, status }] });
    expect(acts(installed)).toEqual(['Event HibernationFailed']);
    expect(why(installed)).toContain('resume the Sandbox once');
    expect(acts(scene({ ...scenery, ownedPods: [POD] }))).toEqual(['save pod-1']);
  });

  it('counts as failed, so the Pod ends by default, and an Event says why', () => {
    const off = { ...falling(), settings: { ...falling().settings, snapshotsEnabled: false } };
    expect(getStep(decide(off), 'recordEvent').note.message).toContain('hibernation.enabled');
    expect(acts(off)).toEqual(['delete Pod', 'Event HibernationFailed']);
  });

  it('because the API server rejects the SandboxSnapshot; what only has to be repeated is repeated', () => {
    const failure = { phase: 'hibernation', message: 'exceeded quota' } as const;
    const rejected = { ...falling(), failures: [{ ...failure, retryAtMs: 1 }] };
    expect(acts(rejected)).toEqual(['delete Pod', 'Event HibernationFailed']);
    expect(acts({ ...falling(), failures: [failure] })).toEqual(['Event ReconcilerError']);
  });
});

describe('the Events of a suspension', () => {
  const suspended = (hibernations: readonly SandboxSnapshot[]): Snapshot => scene({ spec: SUSPENDED, hibernations });
  it('say whether memory is kept', () => {
    expect(acts(suspended([hibernation()]))).toEqual(['Event Hibernated']);
    expect(acts(suspended([]))).toEqual(['Event Suspended']);
    expect(acts(suspended([hibernation({ phase: 'Saving' })]))).toEqual(['Event Suspended']);
  });

  it('say once that the memory of a Pod that is kept could not be saved', () => {
    const kept = falling([hibernation({ phase: 'Failed' })], KEEP_RUNNING);
    expect(acts(kept)).toEqual(['Event HibernationFailed']);
    expect(acts({ ...kept, sandbox: published(kept) })).toEqual([]);
  });
});

describe('a Sandbox that is suspended again while its Pod is restored', () => {
  const again = (parts: Parameters<typeof markedPod>[2], more: Parameters<typeof hibernation>[0] = {}): Snapshot =>
    scene({
      spec: SUSPENDED,
      ownedPods: [markedPod('pod-2', 'saved-pod-1', parts)],
      hibernations: [hibernation(more)],
    });
  const scheduled = (seconds: number) => [
    { type: 'PodScheduled', status: 'True' as const, lastTransitionTime: later(seconds) },
  ];
  const to = { podUID: 'pod-2' };
  it.each<Row>([
    ['waits for the outcome', again({ phase: 'Pending', conditions: scheduled(-1) }, { restore: to }), []],
    ['waits before the announcement', again({ phase: 'Pending', conditions: scheduled(-1) }), []],
    [
      'does not wait for ever, and keeps its memory',
      again({ phase: 'Pending', conditions: scheduled(-61) }),
      ['delete Pod'],
    ],
    ['does not wait for a Pod without a node', noNode(again({ phase: 'Pending' })), ['delete Pod']],
    [
      'is saved anew after it was restored, once the spent memory is gone',
      again({}, { restore: { ...to, state: 'Restored' } }),
      ['drop saved-pod-1', 'Event Restored'],
    ],
    [
      'has lost its memory if the restore failed',
      again({ phase: 'Pending' }, { restore: { ...to, state: 'Failed', message: 'bad image' } }),
      ['delete Pod', 'drop saved-pod-1', 'Event RestoreFailed'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });
});

function noNode(snapshot: Snapshot): Snapshot {
  return { ...snapshot, ownedPods: snapshot.ownedPods.map((pod) => ({ ...pod, spec: { containers: [] } })) };
}

describe('the SandboxSnapshot of a hibernation', () => {
  it('belongs to the Sandbox and has the class that it names', () => {
    const spec = { suspensionStrategy: { type: 'Hibernate', hibernate: { snapshotClassName: 'fast' } } } as const;
    const { hibernation: made } = getStep(decide(falling([], spec)), 'createHibernation');
    expect(made.spec).toEqual({ sandboxName: 'notebook', snapshotClassName: 'fast', whenSaved: 'StayPaused' });
    expect(made.metadata).toMatchObject({
      name: expect.stringMatching(/^notebook-[0-9a-f]{10}$/) as string,
      namespace: 'team-a',
      ownerReferences: [{ kind: 'Sandbox', uid: sleeper().metadata.uid, controller: true, blockOwnerDeletion: true }],
      annotations: { [annotations.savedTemplate]: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
    });
  });
});
