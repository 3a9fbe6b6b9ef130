import { annotations, labels, memoryStates } from '@sandlot/api-types';
import type { SandboxStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { hibernation, HIBERNATE, later, markedPod, podOf, scene, sleeper, SUSPENDED } from '../../test/hibernations.ts';
import type { HibernationParts } from '../../test/hibernations.ts';
import { decide } from '../decide.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { getStatus } from './status.ts';

const LOST = { reason: 'RestoreFailed', message: 'so', at: later(-5) };
const EDITED = { podTemplate: { spec: { containers: [{ name: 'main', image: 'another' }] } } };

function knowing(status: SandboxStatus, parts: Parameters<typeof scene>[0] = {}): Snapshot {
  const sandbox = sleeper(parts.spec);
  return scene({ ...parts, sandbox: { ...sandbox, status: { ...sandbox.status, ...status } } });
}

const restored = (from: HibernationParts, status: SandboxStatus = {}, spec = {}): Snapshot =>
  knowing(status, {
    spec,
    ownedPods: [markedPod('pod-2', 'saved-pod-1', { phase: 'Running' })],
    hibernations: [hibernation({ ...from, restore: { state: 'Restored', ...from.restore } })],
  });
const FILES = { files: 'beside', restore: { only: 'files' } } as const;
const asleep = (status: SandboxStatus, hibernations: readonly HibernationParts[], spec = {}): Snapshot =>
  knowing(status, { spec: { ...SUSPENDED, ...spec }, hibernations: hibernations.map(hibernation) });

type Row = readonly [sentence: string, snapshot: Snapshot, ...said: Said];
type Said = readonly [resumedFrom: SandboxStatus['resumedFrom'], lost: string | undefined];

describe('the status of a Sandbox that hibernates', () => {
  it.each<Row>([
    ['of memory that is back says so, and forgets what was lost', restored({}, { lost: LOST }), 'Memory', undefined],
    ['of files after a restore that failed keeps what was lost', restored(FILES, { lost: LOST }), 'Files', 'so'],
    ['of files in place of memory says that it is lost', restored(FILES), 'Files', 'it could not be restored'],
    ['of files after an edit says why', restored(FILES, {}, EDITED), 'Files', 'podTemplate of the Sandbox was edited'],
    ['of files that alone were saved lost nothing', restored({ ...FILES, files: 'alone' }), 'Files', undefined],
    ['of a first Pod says nothing', knowing({}, { ownedPods: [podOf('pod-1')] }), undefined, undefined],
    [
      'of an ordinary Pod after a resume says that its memory is not back',
      knowing({ resumedAt: later(-9), lost: LOST }, { ownedPods: [podOf('pod-2')] }),
      'Volumes',
      'so',
    ],
    [
      'of a restored Pod stays when its SandboxSnapshot is gone',
      knowing({ resumedFrom: 'Files', lost: LOST }, { ownedPods: [markedPod('pod-2', 'gone', { phase: 'Running' })] }),
      'Files',
      'so',
    ],
    ['that sleeps with its memory has lost nothing', asleep({ lost: LOST }, [{}]), undefined, undefined],
    ['that could not be saved says why', asleep({ lost: LOST }, []), undefined, 'so'],
    [
      'that loses its node while it sleeps says so',
      asleep({ keeps: 'Memory' }, [{ phase: 'Failed', says: ['DataLost', 'the node is gone'] }]),
      undefined,
      'the node is gone',
    ],
    ['that loses its SandboxSnapshot says so', asleep({ keeps: 'Files' }, []), undefined, 'is gone'],
    [
      'that is edited says what is left',
      asleep({ keeps: 'Memory' }, [{ files: 'beside' }], EDITED),
      undefined,
      'edited',
    ],
    [
      'that was announced to a Pod that never began has lost nothing yet',
      asleep({ keeps: 'Memory' }, [{ restore: { state: 'Announced' } }]),
      undefined,
      undefined,
    ],
    [
      'with Stop says nothing',
      knowing(
        { resumedFrom: 'Memory', lost: LOST },
        { spec: { suspensionStrategy: { type: 'Stop' } }, ownedPods: [podOf('pod-2')] },
      ),
      undefined,
      undefined,
    ],
  ])('%s', (_, snapshot, ...[resumedFrom, lost]) => {
    const status = getStatus(snapshot);
    expect(status.resumedFrom).toBe(resumedFrom);
    if (lost === undefined) expect(status.lost).toBeUndefined();
    else expect(status.lost?.message).toContain(lost);
  });

  it('says why the memory of an evicted Pod was not saved', () => {
    const note = { [annotations.saveProblem]: 'the disk is full' };
    const pod = podOf('pod-1', { annotations: note, labels: { [labels.memory]: memoryStates.unsaved } });
    const evicted = { ...pod, metadata: { ...pod.metadata, deletionTimestamp: later(0) } };
    const { lost } = getStatus(scene({ ownedPods: [evicted] }));
    expect([lost?.reason, lost?.message]).toEqual(['HibernationFailed', expect.stringContaining('the disk is full')]);
  });
});

describe('what became of the memory', () => {
  const patches = (snapshot: Snapshot) =>
    decide(snapshot).map((step) => (step.kind === 'patchStatus' ? step.patch['status'] : step.kind));

  it('is in the status before the SandboxSnapshot goes, together with Ready', () => {
    const [status, ...rest] = patches(restored({}));
    expect(status).toMatchObject({ resumedFrom: 'Memory', phase: 'Running' });
    expect(rest).toEqual(['deleteHibernation', 'recordEvent']);
  });

  it('is written once, also when the pass is repeated', () => {
    expect(patches(restored({}, { resumedFrom: 'Memory' }))).toEqual(['deleteHibernation', 'recordEvent']);
  });

  it('is in the status before a Pod goes that could not be restored', () => {
    const failed = scene({
      ownedPods: [markedPod('pod-2', 'saved-pod-1', { phase: 'Pending' })],
      hibernations: [hibernation({ restore: { state: 'Failed', message: 'the image is damaged' } })],
    });
    const [status, ...rest] = patches(failed);
    expect(status).toMatchObject({ lost: { reason: 'RestoreFailed', at: later(0) } });
    expect(rest).toEqual(['deletePod', 'deleteHibernation', 'recordEvent']);
  });

  it('is in the status before a Pod goes that could not be saved', () => {
    const failed = scene({
      spec: { ...HIBERNATE, ...SUSPENDED },
      ownedPods: [podOf('pod-1', { phase: 'Running' })],
      settings: { snapshotsEnabled: false },
    });
    const [status, ...rest] = patches(failed);
    expect(status).toMatchObject({ lost: { reason: 'HibernationFailed' } });
    expect(rest).toEqual(['deletePod', 'recordEvent']);
  });
});
