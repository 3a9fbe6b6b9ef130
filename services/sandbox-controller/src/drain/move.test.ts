import { labels } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus, SandboxSpec } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube';
import { describe, expect, it } from 'vitest';
import { conditionSummary, findMessage, getStep, NOW_MS } from '../../test/builders.ts';
import type { PodParts } from '../../test/builders.ts';
import { acts, hibernation, KEEP_RUNNING, later, markedPod, podOf, scene, SUSPENDED } from '../../test/hibernations.ts';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Drain, Snapshot } from '../plan/snapshot.ts';

const DRAIN: Drain = { hasTurn: true, needsUpload: false };
const BUCKET: Drain = { hasTurn: true, needsUpload: true };
const FAILED = hibernation({ phase: 'Failed', says: ['NoSpace', 'the node is full'] });

interface Parts {
  readonly drain?: Drain | undefined;
  readonly memory?: string;
  readonly pod?: PodParts;
  readonly spec?: Partial<SandboxSpec>;
}

const labelled = (pod: Pod, memory: string): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [labels.memory]: memory } },
});

/** The Sandbox runs on a node that is being emptied, unless `parts` say otherwise. */
function leaving(hibernations: readonly SandboxSnapshot[] = [], parts: Parts = {}): Snapshot {
  const { memory = 'protected', spec = {}, pod = {} } = parts;
  return scene({
    spec,
    drain: 'drain' in parts ? parts.drain : DRAIN,
    ownedPods: [labelled(podOf('pod-1', pod), memory)],
    hibernations,
    settings: { drainEnabled: true },
  });
}

const withStatus = (status: SandboxSnapshotStatus, base = hibernation()): SandboxSnapshot => ({
  ...base,
  status: { ...base.status, ...status },
});
const remote = (state: 'Uploading' | 'Uploaded' | 'Failed') => ({ remote: { state, at: later(-40) } });
const under = (phase: 'Pending' | 'Saving', created = later(-60)): SandboxSnapshot => hibernation({ phase, created });

type Row = readonly [sentence: string, snapshot: Snapshot, acts: readonly string[]];
const LEAVES = ['delete frozen Pod', 'Event MovedFromNode'];
const GIVES_UP = ['label unsaved', 'Event HibernationFailed'];

describe('a Sandbox whose node is being emptied', () => {
  const rows: readonly Row[] = [
    ['is saved', leaving(), ['save pod-1']],
    [
      'is saved although a failed save of another Pod is left',
      leaving([hibernation({ of: 'pod-0', phase: 'Failed' })]),
      ['save pod-1'],
    ],
    ['waits for its turn', leaving([], { drain: { ...DRAIN, hasTurn: false } }), []],
    [
      'keeps a save that has begun, although it has no turn',
      leaving([under('Saving')], { drain: { ...DRAIN, hasTurn: false } }),
      [],
    ],
    ['waits until the save begins', leaving([under('Pending')]), []],
    ['waits while it is being saved', leaving([under('Saving')]), []],
    [
      'waits for the end of a save that is being cancelled',
      leaving([hibernation({ terminating: true, phase: 'Saving' })]),
      [],
    ],
    ['leaves once it is saved', leaving([hibernation()]), LEAVES],
    ['waits for the bucket before the upload begins', leaving([hibernation()], { drain: BUCKET }), []],
    ['waits for the bucket during the upload', leaving([withStatus(remote('Uploading'))], { drain: BUCKET }), []],
    ['waits for the bucket while uploads fail', leaving([withStatus(remote('Failed'))], { drain: BUCKET }), []],
    ['leaves once the bucket has its memory', leaving([withStatus(remote('Uploaded'))], { drain: BUCKET }), LEAVES],
    [
      'does not wait for the bucket for ever',
      leaving([withStatus({ savedAt: later(-601) })], { drain: BUCKET }),
      LEAVES,
    ],
    ['gives its memory up when the save fails', leaving([FAILED]), GIVES_UP],
    [
      'gives its memory up when the save fails, also with KeepRunning',
      leaving([FAILED], { spec: KEEP_RUNNING }),
      GIVES_UP,
    ],
    ['gives its memory up when a save takes too long', leaving([under('Saving', later(-601))]), GIVES_UP],
    [
      'gives its memory up when nothing looks at the save',
      leaving([{ ...under('Pending', later(-601)), status: undefined }]),
      GIVES_UP,
    ],
    ['drops a save that failed once that is noted', leaving([FAILED], { memory: 'unsaved' }), ['drop saved-pod-1']],
    ['is not saved again once its memory was given up', leaving([], { memory: 'unsaved' }), []],
    [
      'goes on in another Pod if a save is complete after all',
      leaving([hibernation()], { memory: 'unsaved' }),
      ['delete frozen Pod'],
    ],
    ['is not saved before it has started', leaving([], { pod: { phase: 'Pending' } }), []],
    ['is not saved after it ended', leaving([], { pod: { phase: 'Failed' } }), ['Event PodFailed']],
    ['is not saved when it goes already', leaving([], { pod: { terminating: true } }), []],
    [
      'is not saved by the strategy Stop',
      leaving([], { spec: { suspensionStrategy: { type: 'Stop' } } }),
      ['no label'],
    ],
    [
      'is not touched while it has several Pods',
      { ...leaving(), ownedPods: [podOf('pod-1'), podOf('pod-2')] },
      ['Event MultiplePods'],
    ],
    [
      'is saved first for its suspension',
      leaving([], { spec: SUSPENDED, drain: { ...DRAIN, hasTurn: false } }),
      ['save pod-1'],
    ],
    [
      'ends as suspended when it is',
      leaving([hibernation()], { spec: SUSPENDED, drain: BUCKET }),
      ['delete frozen Pod'],
    ],
    [
      'is stopped when the save for its suspension fails',
      leaving([FAILED], { spec: SUSPENDED }),
      ['delete Pod', 'Event HibernationFailed'],
    ],
    [
      'no longer holds the node up when it is kept because the save for its suspension failed',
      leaving([FAILED], { spec: { ...SUSPENDED, ...KEEP_RUNNING } }),
      GIVES_UP,
    ],
    [
      'no longer holds the node up when the save for its suspension takes too long',
      leaving([under('Saving', later(-601))], { spec: SUSPENDED }),
      GIVES_UP,
    ],
  ];
  it.each(rows)('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('is saved under the name of its Pod, with the class of its strategy', () => {
    const spec = { suspensionStrategy: { type: 'Hibernate', hibernate: { snapshotClassName: 'fast' } } } as const;
    const { hibernation: made } = getStep(decide(leaving([], { spec })), 'createHibernation');
    expect(made.spec).toEqual({ sandboxName: 'notebook', snapshotClassName: 'fast', whenSaved: 'StayPaused' });
  });

  it('says where it goes on, and what is lost', () => {
    const note = (snapshot: Snapshot): string => getStep(decide(snapshot), 'recordEvent').note.message;
    expect(note(leaving([hibernation()]))).toContain('Node "node-1" is being emptied');
    expect(note(leaving([hibernation()]))).toContain('on the same node, once that takes Pods again');
    expect(note(leaving([withStatus(remote('Uploaded'))]))).toContain('on any node that can restore it');
    expect(note(leaving([FAILED]))).toContain('the node is full. Evictions of the Pod no longer wait');
    expect(note(leaving([under('Saving', later(-601))]))).toContain('was not complete after 10 minutes');
  });

  it('gets its next pass when a save or an upload takes too long', () => {
    expect(requeueAtMs(leaving([under('Saving')]))).toBe(NOW_MS + 540_000);
    expect(requeueAtMs(leaving([hibernation()], { drain: BUCKET }))).toBe(NOW_MS + 550_000);
  });

  it('waits for the outcome of its restore, and is saved anew once the spent memory is gone', () => {
    const scheduled = [{ type: 'PodScheduled', status: 'True' as const, lastTransitionTime: later(-1) }];
    const pod = labelled(markedPod('pod-2', 'saved-pod-1', { conditions: scheduled }), 'protected');
    const restored = hibernation({ restore: { podUID: 'pod-2', state: 'Restored' } });
    const announced = hibernation({ restore: { podUID: 'pod-2' } });
    const on = (hibernations: readonly SandboxSnapshot[]): Snapshot => ({ ...leaving(hibernations), ownedPods: [pod] });
    expect(acts(on([announced]))).toEqual([]);
    expect(acts(on([restored]))).toEqual(['drop saved-pod-1', 'Event Restored']);
    expect(acts(on([]))).toEqual(['save pod-2']);
  });
});

describe('a Sandbox whose node was being emptied', () => {
  const rows: readonly Row[] = [
    ['runs on when it was not saved yet', leaving([under('Saving')], { drain: undefined }), ['drop saved-pod-1']],
    ['goes on in another Pod when it was saved', leaving([hibernation()], { drain: undefined }), ['delete frozen Pod']],
    [
      'goes on although the bucket does not have its memory',
      leaving([withStatus(remote('Uploading'))], { drain: undefined }),
      ['delete frozen Pod'],
    ],
    [
      'is protected again when its memory was given up',
      leaving([], { drain: undefined, memory: 'unsaved' }),
      ['label protected'],
    ],
  ];
  it.each(rows)('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('continues from its memory in the next Pod', () => {
    const gone = scene({ hibernations: [hibernation()], drain: undefined, settings: { drainEnabled: true } });
    expect(acts(gone)).toEqual(['restore saved-pod-1']);
    expect(getStep(decide(gone), 'createPod').pod.metadata.labels?.[labels.memory]).toBe('protected');
  });
});

describe('a Pod that stands still', () => {
  it('is not Ready while its memory is uploaded', () => {
    const waiting = leaving([hibernation()], { drain: BUCKET });
    expect(conditionSummary(waiting)).toContain('Ready=False/DependenciesNotReady');
    expect(findMessage(waiting, 'Ready')).toContain('Pod stands still');
    expect(conditionSummary(leaving([under('Saving')]))).toContain('Ready=True/DependenciesReady');
  });
});
