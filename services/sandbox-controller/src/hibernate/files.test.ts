import { annotations, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { getStep, MOUNTED_RUNTIME } from '../../test/builders.ts';
import { acts, hibernation, markedPod, podOf, scene, sleeper, SUSPENDED } from '../../test/hibernations.ts';
import type { HibernationParts } from '../../test/hibernations.ts';
import { decide } from '../decide.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from '../status/status.ts';
import { withFiles } from './restored-pod.ts';

type Row = readonly [sentence: string, snapshot: Snapshot, acts: readonly string[]];
type State = 'Announced' | 'Restored' | 'Failed' | 'Withdrawn';

const kept = (state?: State, more = {}): HibernationParts => ({
  files: 'beside',
  ...(state === undefined ? {} : { restore: { state, podUID: 'pod-2', ...more } }),
});
const waking = (from: HibernationParts, spec = {}): Snapshot => scene({ spec, hibernations: [hibernation(from)] });
const beside = (from: HibernationParts, phase: 'Pending' | 'Running' = 'Pending', spec = {}): Snapshot =>
  scene({ spec, ownedPods: [markedPod('pod-2', 'saved-pod-1', { phase })], hibernations: [hibernation(from)] });
const FILES = { only: 'files' } as const;
const EDITED = { podTemplate: { spec: { containers: [{ name: 'main', image: 'another' }] } } };
const STOP = { suspensionStrategy: { type: 'Stop' } } as const;

function withNote(key: string, value: string, spec = {}): Sandbox {
  const sandbox = sleeper(spec);
  return {
    ...sandbox,
    metadata: { ...sandbox.metadata, annotations: { ...sandbox.metadata.annotations, [key]: value } },
  };
}

describe('a hibernation with files', () => {
  it.each<Row>([
    ['is restored with its memory', waking(kept()), ['restore saved-pod-1']],
    [
      'whose memory fails loses the Pod, and nothing else',
      beside(kept('Failed')),
      ['delete Pod', 'Event RestoreFailed'],
    ],
    ['whose memory failed boots with its files', waking(kept('Failed')), ['restore only the files of saved-pod-1']],
    [
      'whose files were withdrawn boots with them later',
      waking(kept('Withdrawn', FILES)),
      ['restore only the files of saved-pod-1'],
    ],
    ['waits for the announcement of its files', beside(kept('Failed', { podUID: 'pod-1' })), []],
    ['waits for the outcome of its files', beside(kept('Announced', FILES)), []],
    [
      'whose files fail as well boots cold, once',
      beside(kept('Failed', FILES)),
      ['delete Pod', 'drop saved-pod-1', 'Event RestoreFailed'],
    ],
    ['that has nothing left is dropped', waking(kept('Failed', FILES)), ['drop saved-pod-1', 'Event RestoreFailed']],
    [
      'that has booted with its files is done',
      beside(kept('Restored', FILES), 'Running'),
      ['drop saved-pod-1', 'Event FilesRestored'],
    ],
    [
      'boots with its files after an edit of the template',
      waking(kept(), EDITED),
      ['restore only the files of saved-pod-1'],
    ],
    [
      'boots with its files where a client wants no memory',
      scene({ sandbox: withNote(annotations.unwantedMemory, 'saved-pod-1'), hibernations: [hibernation(kept())] }),
      ['restore only the files of saved-pod-1'],
    ],
    [
      'is restored with its memory where a client wanted none of another one',
      scene({ sandbox: withNote(annotations.unwantedMemory, 'saved-pod-0'), hibernations: [hibernation(kept())] }),
      ['restore saved-pod-1'],
    ],
    [
      'is dropped where a client wants no memory and no files were kept',
      scene({ sandbox: withNote(annotations.unwantedMemory, 'saved-pod-1'), hibernations: [hibernation()] }),
      ['drop saved-pod-1', 'Event RestoreFailed'],
    ],
    ['is dropped by the strategy Stop', waking(kept('Failed'), STOP), ['drop saved-pod-1']],
    [
      'whose memory fails is dropped by the strategy Stop',
      beside(kept('Failed'), 'Pending', STOP),
      ['delete Pod', 'drop saved-pod-1', 'Event RestoreFailed'],
    ],
    ['without memory boots with its files', waking({ files: 'alone' }), ['restore only the files of saved-pod-1']],
    [
      'without memory whose files fail boots cold, once',
      beside({ files: 'alone', restore: { state: 'Failed', podUID: 'pod-2', ...FILES } }),
      ['delete Pod', 'drop saved-pod-1', 'Event RestoreFailed'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('stays while its Sandbox sleeps, whatever became of the memory', () => {
    const asleep = acts(waking(kept('Failed'), SUSPENDED)).filter((act) => act.startsWith('drop'));
    expect(asleep).toEqual([]);
  });

  it('says what is lost and what is not', () => {
    const { note } = getStep(decide(beside(kept('Failed', { message: 'another gVisor' }))), 'recordEvent');
    expect(note.message).toBe(
      `Memory was not restored and is lost: another gVisor. The Sandbox boots with the files that SandboxSnapshot "${hibernation().metadata.name ?? ''}" kept; its processes are gone`,
    );
  });
});

describe('the Pod that boots with files', () => {
  it("has its init containers, today's daemon, and the node with the files", () => {
    const spec = {
      runtime: { inject: true },
      podTemplate: {
        spec: {
          containers: [{ name: 'main', image: 'busybox' }],
          initContainers: [{ name: 'first', image: 'busybox' }],
        },
      },
    };
    const saved = { [annotations.savedRuntimeImage]: 'daemon:old' };
    const snapshot = scene({
      spec,
      hibernations: [hibernation({ files: 'alone', annotations: saved })],
      settings: { runtime: MOUNTED_RUNTIME },
    });
    const { metadata, spec: built } = getStep(decide(snapshot), 'createPod').pod;
    expect(metadata.annotations).toMatchObject({
      [annotations.restoreSnapshot]: 'saved-pod-1',
      [annotations.restoreOnly]: 'files',
    });
    expect(metadata.labels?.[labels.restoreSnapshot]).toBe('saved-pod-1');
    expect(JSON.stringify(built)).toContain('"name":"first"');
    expect(JSON.stringify(built)).not.toContain('daemon:old');
    expect(JSON.stringify(built['affinity'])).toContain('"node-1"');
  });

  it('keeps what else its template says', () => {
    const pod = podOf('pod-2');
    const { spec, metadata } = withFiles(pod, hibernation({ files: 'beside' }));
    expect({ ...spec, affinity: undefined }).toEqual({ ...pod.spec, affinity: undefined });
    expect(metadata.labels).toMatchObject(pod.metadata.labels ?? {});
  });
});

describe('a suspension', () => {
  it('saves files alone where the strategy says so', () => {
    const strategy = { type: 'Hibernate', hibernate: { contents: 'Files' } } as const;
    const snapshot = scene({ spec: { ...SUSPENDED, suspensionStrategy: strategy }, ownedPods: [podOf('pod-1')] });
    expect(getStep(decide(snapshot), 'createHibernation').hibernation.spec.contents).toBe('Files');
  });

  it.each([
    [0, 'Files'],
    [-1, undefined],
  ])('saves files alone where the request for it says so, and no later one: %i', (difference, contents) => {
    const generation = String((sleeper(SUSPENDED).metadata.generation ?? 0) + difference);
    const sandbox = withNote(annotations.pauseKeepsFiles, generation, SUSPENDED);
    const snapshot = scene({ sandbox, ownedPods: [podOf('pod-1')] });
    expect(getStep(decide(snapshot), 'createHibernation').hibernation.spec.contents).toBe(contents);
  });
});

describe('the status of a suspended Sandbox', () => {
  it.each([
    ['memory', [hibernation()], 'Memory'],
    ['memory with files beside it', [hibernation(kept())], 'Memory'],
    ['files', [hibernation({ files: 'alone' })], 'Files'],
    ['files, because its memory was not restored', [hibernation(kept('Failed'))], 'Files'],
    ['its volumes alone', [], 'Volumes'],
    ['its volumes alone, because the save failed', [hibernation({ phase: 'Failed' })], 'Volumes'],
  ] as const)('says that it keeps %s', (_, hibernations, keeps) => {
    expect(getStatus(scene({ spec: SUSPENDED, hibernations })).keeps).toBe(keeps);
  });

  it('says that a Sandbox which does not hibernate keeps its volumes alone, and nothing while it runs', () => {
    expect(getStatus(scene({ spec: { ...SUSPENDED, ...STOP } })).keeps).toBe('Volumes');
    expect(getStatus(scene({ hibernations: [hibernation()] })).keeps).toBeUndefined();
  });
});
