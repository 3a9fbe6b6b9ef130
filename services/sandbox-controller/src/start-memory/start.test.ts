import { annotations, buildStartName, labels } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { conditionSummary, findMessage, getStep, published, RUNTIME } from '../../test/builders.ts';
import { acts, hibernation, HIBERNATE, later, podOf, sleeper, SUSPENDED } from '../../test/hibernations.ts';
import { copy, newCopy, outcome, startedPod, starter, startScene } from '../../test/starts.ts';
import { decide } from '../decide.ts';
import { requeueAtMs } from '../lifetime/decide-requeue.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isRecordNews } from './start-record.ts';

const UNSEEN = `the snapshot-controller has not looked at SandboxSnapshot "${buildStartName('notebook', starter().metadata.uid ?? '')}" for a minute. Look at its Deployment`;

type Row = readonly [sentence: string, snapshot: Snapshot, acts: readonly string[]];

const failed = copy({ phase: 'Failed', says: ['SnapshotNotFound', 'there is none'] });
const lost = copy({ phase: 'Failed', says: ['DataLost', 'node-1 is gone'] });
/** A Sandbox whose copy was chosen, without a Pod. */
const chosen = (hibernations: Snapshot['hibernations'], parts: Parameters<typeof startScene>[0] = {}): Snapshot =>
  startScene({ record: 'copy-1', hibernations, ...parts });
const off = { snapshotsEnabled: false };
const rejected = [{ phase: 'hibernation', message: 'exceeded quota', retryAtMs: 1 }] as const;
const NOT_FOUND = `SandboxSnapshot "${buildStartName('notebook', starter().metadata.uid ?? '')}": there is none`;

describe('a Sandbox with restoreFrom, before its first Pod,', () => {
  it.each<Row>([
    ['makes its copy', startScene(), ['copy']],
    ['waits until somebody looks at the copy', startScene({ hibernations: [newCopy()] }), []],
    [
      'waits less than a minute for somebody to look at the copy',
      startScene({ onFailure: 'Boot', hibernations: [newCopy(-59)] }),
      [],
    ],
    [
      'boots after that if it may',
      startScene({ onFailure: 'Boot', hibernations: [newCopy(-60)] }),
      [`record failed: ${UNSEEN}`, 'Event RestoreFailed'],
    ],
    ['waits while the copy is pending', startScene({ hibernations: [copy({ phase: 'Pending' })] }), []],
    ['waits while the copy is being made', startScene({ hibernations: [copy({ phase: 'Saving' })] }), []],
    ['records the copy before it makes a Pod', startScene({ hibernations: [copy()] }), ['record copy-1']],
    [
      'waits for the end of a copy that somebody deletes',
      startScene({ hibernations: [copy({ terminating: true })] }),
      [],
    ],
    ['makes no copy while it is suspended', startScene({ spec: SUSPENDED }), ['Event Suspended']],
    [
      'keeps a copy while it is suspended',
      startScene({ spec: SUSPENDED, hibernations: [copy()] }),
      ['Event Suspended'],
    ],
    ['records that the copy failed', startScene({ hibernations: [failed] }), [`record failed: ${NOT_FOUND}`]],
    [
      'says so if it boots for that',
      startScene({ onFailure: 'Boot', hibernations: [failed] }),
      [`record failed: ${NOT_FOUND}`, 'Event RestoreFailed'],
    ],
    [
      'asks again if the API server rejects the copy',
      { ...startScene(), failures: rejected },
      ['Event ReconcilerError'],
    ],
    [
      'boots if it may and the API server rejects the copy',
      { ...startScene({ onFailure: 'Boot' }), failures: rejected },
      ['record failed: exceeded quota', 'Event RestoreFailed'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it.each([
    ['without the snapshot-controller', off, 'hibernation.enabled'],
    ['where an init container would bring its daemon', { runtime: RUNTIME }, 'runtime.delivery to ImageVolume'],
  ])('makes no copy %s, and says what to set', (_, settings, text) => {
    const snapshot = startScene({ spec: { runtime: { inject: true } }, settings });
    expect(acts(snapshot)).toEqual([expect.stringContaining(`record failed: `)]);
    expect(acts(snapshot)[0]).toContain(text);
  });

  it('does not take over a Pod that was there before, and asks to delete it', () => {
    const foreignPod = podOf('pod-9', { owner: null, labels: { [labels.adoptable]: 'true' } });
    const { message } = getStep(decide(startScene({ foreignPod })), 'reportFailure');
    expect(message).toBe('pod "notebook" does not come from the snapshot that spec.restoreFrom names. Delete it');
    const going = podOf('pod-9', { owner: null, labels: { [labels.adoptable]: 'true' }, terminating: true });
    expect(acts(startScene({ foreignPod: going }))).toEqual([]);
    expect(getStep(decide(startScene({ foreignPod, record: 'restored' })), 'patchPod').pod).toBe(foreignPod);
  });

  it('does not start in a Pod of another template than its copy is for', () => {
    const other = copy({ annotations: { [annotations.savedTemplate]: 'another' } });
    expect(acts(startScene({ hibernations: [other] }))[0]).toContain(
      'record failed: podTemplate of the Sandbox was edited',
    );
  });

  it('makes a copy that it controls, of which the snapshot-controller knows the source', () => {
    const { hibernation: made, pod } = getStep(decide(startScene({ spec: HIBERNATE })), 'createHibernation');
    expect(pod).toBeUndefined();
    expect(made.spec).toEqual({
      sandboxName: 'notebook',
      whenSaved: 'StayPaused',
      copyOf: { snapshotName: 'trained' },
    });
    const { uid = '' } = starter().metadata;
    expect(made.metadata).toMatchObject({
      name: buildStartName('notebook', uid),
      ownerReferences: [{ kind: 'Sandbox', uid, controller: true }],
      annotations: { [annotations.savedTemplate]: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
    });
  });

  it('guards its record by the version that it saw', () => {
    const { patch } = getStep(decide(startScene({ hibernations: [copy()] })), 'recordStart');
    expect(patch).toMatchObject({ metadata: { uid: starter().metadata.uid, resourceVersion: '9' } });
  });

  it.each([
    ['with the mark of its Pod', { ownedPods: [startedPod()] }, 'record copy-1'],
    ['as over with another Pod', { ownedPods: [podOf('pod-1')] }, 'record restored'],
    ['as over when it has hibernated', { hibernations: [hibernation()] }, 'record restored'],
  ])('restores a record that somebody removed, %s', (_, parts, wanted) => {
    expect(acts(startScene(parts))).toEqual([wanted]);
  });
});

describe('a Sandbox whose copy was chosen, without a Pod,', () => {
  const gone = 'record failed: its copy of the snapshot is gone';
  it.each<Row>([
    ['restores its first Pod', chosen([copy()]), ['restore copy-1']],
    ['does so by any suspension strategy', chosen([copy()], { spec: HIBERNATE }), ['restore copy-1']],
    ['lets the next Pod have what was withdrawn', chosen([copy(outcome('Withdrawn'))]), ['restore copy-1']],
    ['waits to see whether the Pod that is gone had begun', chosen([copy(outcome('Announced'))]), []],
    [
      'does not wait longer than a minute',
      chosen([copy(outcome('Announced', { at: later(-61) }))]),
      ['record failed: Pod "notebook", which was about to be restored, is gone'],
    ],
    [
      'has lost its memory with the Pod that had it',
      chosen([copy(outcome('Restored'))]),
      ['record failed: Pod "notebook", which was just restored, is gone'],
    ],
    [
      'has lost it by a restore that failed',
      chosen([copy(outcome('Failed', { message: 'bad image' }))]),
      ['record failed: bad image'],
    ],
    ['has lost it with its node', chosen([lost]), [expect.stringContaining('node-1 is gone') as string]],
    ['has lost it when somebody deletes the copy', chosen([]), [gone]],
    [
      'has lost it while somebody deletes the copy',
      chosen([copy({ terminating: true })]),
      ['record failed: its copy of the snapshot is being deleted'],
    ],
    ['says so if it boots for that', chosen([], { onFailure: 'Boot' }), [gone, 'Event RestoreFailed']],
    ['never takes another copy', chosen([copy({ uid: 'copy-2' })]), [gone]],
    ['keeps its copy while it is suspended', chosen([copy()], { spec: SUSPENDED }), ['Event Suspended']],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('looks at the API server before it decides anything', () => {
    expect(decide({ ...chosen([]), needsMemoryLook: true })).toEqual([{ kind: 'requeueNow' }]);
  });

  it('looks again when the outcome of a restore is overdue', () => {
    const snapshot = chosen([copy(outcome('Announced'))]);
    expect(requeueAtMs(snapshot)).toBe(snapshot.nowMs + 50_000);
  });
});

describe('a Sandbox whose first Pod starts', () => {
  const pending = { phase: 'Pending' } as const;
  const since = [{ type: 'Ready', status: 'True' as const, lastTransitionTime: later(-60) }];
  const beside = (
    pod: Parameters<typeof startedPod>[0],
    from?: Parameters<typeof copy>[0],
  ): Parameters<typeof startScene>[0] => ({
    record: 'copy-1',
    ownedPods: [startedPod(pod)],
    hibernations: from === undefined ? [] : [copy(from)],
  });
  it.each<Row>([
    ['waits for the announcement', startScene(beside(pending, {})), []],
    ['waits for the outcome', startScene(beside(pending, outcome('Announced'))), []],
    [
      'is over, by its record first, when the Pod runs',
      startScene(beside({}, outcome('Restored'))),
      ['record restored'],
    ],
    [
      'is over when the Pod has ended since',
      startScene(beside({ phase: 'Failed' }, outcome('Restored'))),
      ['record restored'],
    ],
    ['is over when the Pod runs and somebody deleted the copy', startScene(beside({})), ['record restored']],
    [
      'is not over when the Pod ended before it was restored',
      startScene(beside({ phase: 'Failed' }, {})),
      ['Event PodFailed'],
    ],
    ['is not over while the Pod goes', startScene(beside({ terminating: true }, outcome('Restored'))), []],
    [
      'has failed when the node says so',
      startScene(beside(pending, outcome('Failed', { message: 'bad image' }))),
      ['record failed: bad image'],
    ],
    ['has failed when the copy is gone', startScene(beside(pending)), ['record failed: its SandboxSnapshot is gone']],
    [
      'has failed when the Pod began anew',
      startScene(beside({ conditions: since }, outcome('Announced'))),
      [expect.stringContaining('record failed: its Pod runs, and no node says') as string],
    ],
    [
      'leaves the Event to the stage that deletes the Pod, if it boots',
      startScene({ ...beside(pending, outcome('Failed', { message: 'bad image' })), onFailure: 'Boot' }),
      ['record failed: bad image'],
    ],
    [
      'lasts while it is suspended',
      startScene({ ...beside(pending, {}), spec: SUSPENDED, nowMs: Date.parse(later(0)) }),
      ['delete Pod'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });

  it('has not failed because the API server does not know since when its Pod is Ready', () => {
    const read = JSON.parse('{"type":"Ready","status":"True","lastTransitionTime":null}') as (typeof since)[number];
    expect(acts(startScene(beside({ conditions: [read] }, outcome('Announced'))))).toEqual([]);
  });

  it('is awaited by a suspension of any strategy, and what may not have started is never saved', () => {
    const conditions = (seconds: number) => [
      { type: 'PodScheduled', status: 'True' as const, lastTransitionTime: later(seconds) },
    ];
    for (const spec of [SUSPENDED, { ...SUSPENDED, ...HIBERNATE }]) {
      const at = (seconds: number): Snapshot =>
        startScene({ ...beside({ conditions: conditions(seconds) }, outcome('Announced')), spec });
      expect([acts(at(-59)), acts(at(-60))]).toEqual([[], ['delete Pod']]);
    }
  });
});

describe('a Sandbox that has started from its snapshot', () => {
  it.each<Row>([
    [
      'drops the copy',
      startScene({ record: 'restored', ownedPods: [startedPod()], hibernations: [copy(outcome('Restored'))] }),
      ['drop copy-1', 'Event Restored'],
    ],
    [
      'drops a copy that was made once more',
      startScene({ record: 'restored', hibernations: [copy()] }),
      ['drop copy-1'],
    ],
    ['begins anew when its Pod is gone', startScene({ record: 'restored' }), ['create Pod']],
    [
      'goes on from a hibernation, and not from a copy that is left',
      startScene({ record: 'restored', spec: HIBERNATE, hibernations: [copy({ created: later(0) }), hibernation()] }),
      ['drop copy-1'],
    ],
    [
      'is saved when it is suspended',
      startScene({ record: 'restored', spec: { ...HIBERNATE, ...SUSPENDED }, ownedPods: [startedPod()] }),
      ['save pod-1'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });
});

describe('a Sandbox whose start has failed', () => {
  const parts = { record: 'failed: bad image' };
  const boot = { ...parts, onFailure: 'Boot' } as const;
  it.each<Row>([
    ['makes no Pod', startScene(parts), ['Event RestoreFailed']],
    ['drops the copy', startScene({ ...parts, hibernations: [copy()] }), ['drop copy-1']],
    ['deletes the Pod that was to be restored', startScene({ ...parts, ownedPods: [startedPod()] }), ['delete Pod']],
    [
      'deletes it too when it ended',
      startScene({ ...parts, ownedPods: [startedPod({ phase: 'Failed' })] }),
      ['delete Pod'],
    ],
    [
      'makes no Pod in an installation that hibernates no more',
      startScene({ ...parts, settings: off }),
      ['Event RestoreFailed'],
    ],
    ['boots if it may', startScene(boot), ['create Pod']],
    ['drops the copy before it boots', startScene({ ...boot, hibernations: [copy()] }), ['drop copy-1']],
    [
      'deletes the Pod that was to be restored before it boots, and says what is lost',
      startScene({ ...boot, ownedPods: [startedPod({ phase: 'Pending' })], hibernations: [copy(outcome('Failed'))] }),
      ['delete Pod', 'drop copy-1', 'Event RestoreFailed'],
    ],
    ['keeps the Pod that it booted', startScene({ ...boot, ownedPods: [podOf('pod-2')] }), []],
    [
      'is suspended without a save',
      startScene({ ...parts, spec: { ...SUSPENDED, ...HIBERNATE }, ownedPods: [startedPod()] }),
      ['delete Pod'],
    ],
  ])('%s', (_, snapshot, wanted) => {
    expect(acts(snapshot)).toEqual(wanted);
  });
});

describe('the condition Ready of a Sandbox with restoreFrom', () => {
  const running = { ownedPods: [startedPod()], hibernations: [copy(outcome('Announced'))], record: 'copy-1' };
  const busy = copy({ phase: 'Pending', says: ['NodeBusy', 'the node is busy'] });
  it.each<readonly [string, Snapshot, string]>([
    [
      'before its copy',
      startScene(),
      'Ready=False/DependenciesNotReady: Waits for the copy of SandboxSnapshot "trained"',
    ],
    [
      'with the cause of a long wait',
      startScene({ hibernations: [busy] }),
      'Ready=False/DependenciesNotReady: Waits for the copy of SandboxSnapshot "trained": the node is busy',
    ],
    ['before its Pod', chosen([copy()]), 'Ready=False/DependenciesNotReady: Pod does not exist'],
    [
      'before its node confirms the restore',
      startScene(running),
      'Ready=False/DependenciesNotReady: Pod runs, and its node has not confirmed yet that it was restored',
    ],
    [
      'where a boot would do as well',
      startScene({ ...running, onFailure: 'Boot' }),
      'Ready=True/DependenciesReady: Pod is Ready',
    ],
    ['after the start', startScene({ ...running, record: 'restored' }), 'Ready=True/DependenciesReady: Pod is Ready'],
    [
      'after a start that failed',
      startScene({ record: 'failed: bad image', ownedPods: [startedPod()] }),
      'Ready=False/RestoreFailed: Sandbox cannot start from SandboxSnapshot "trained", and restoreFrom.onFailure is Fail: bad image',
    ],
    [
      'after a boot in its place',
      startScene({ record: 'failed: x', onFailure: 'Boot', ownedPods: [podOf('pod-2')] }),
      'Ready=True/DependenciesReady: Pod is Ready',
    ],
    [
      'while it is suspended',
      startScene({ record: 'failed: x', spec: SUSPENDED }),
      'Ready=False/SandboxSuspended: Sandbox is suspended',
    ],
  ])('%s', (_, snapshot, wanted) => {
    const summary = conditionSummary(snapshot).find((text) => text.startsWith('Ready='));
    expect(`${summary ?? ''}: ${findMessage(snapshot, 'Ready') ?? ''}`).toBe(wanted);
  });

  it('is reported once as an Event that says what to do', () => {
    const snapshot = startScene({ record: 'failed: bad image' });
    expect(getStep(decide(snapshot), 'recordEvent').note.message).toMatch(
      /bad image\. Delete this Sandbox, and create/,
    );
    expect(acts({ ...snapshot, sandbox: published(snapshot) })).not.toContain('Event RestoreFailed');
  });
});

describe('at the end of a Sandbox', () => {
  it('its copy is dropped, also while it is being made', () => {
    const expired = {
      type: 'Ready',
      status: 'False',
      reason: 'SandboxExpired',
      message: 'm',
      lastTransitionTime: later(-9),
    } as const;
    const sandbox = { ...starter(undefined, { shutdownTime: later(-10) }), status: { conditions: [expired] } };
    expect(acts({ ...startScene({ hibernations: [copy({ phase: 'Saving' })] }), sandbox })).toEqual(['drop copy-1']);
  });
});

describe('the record that an answer of the API server shows', () => {
  it('is news unless this pass made it, so the memory that the pass saw is no longer enough', () => {
    const [open, chosen] = [starter(), starter('copy-1')];
    expect(isRecordNews({ kind: 'patchStatus' }, open, chosen)).toBe(true);
    expect(isRecordNews({ kind: 'recordStart' }, open, chosen)).toBe(false);
    expect(isRecordNews({ kind: 'patchStatus' }, chosen, chosen)).toBe(false);
  });
});

describe('a Sandbox without restoreFrom', () => {
  it('pays no regard to the annotation', () => {
    const { metadata, ...rest } = sleeper();
    const sandbox = { ...rest, metadata: { ...metadata, annotations: { [annotations.startMemory]: 'failed' } } };
    expect(acts(startScene({ sandbox }))).toEqual(['create Pod']);
  });
});
