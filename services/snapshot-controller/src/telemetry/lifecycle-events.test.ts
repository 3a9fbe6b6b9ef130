import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { snapshotFactSource } from './lifecycle-events.ts';

const AT = '2026-01-01T12:00:00Z';
type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

const hibernation = (status: SandboxSnapshotStatus): SandboxSnapshot => ({
  apiVersion: 'sandlot.dev/v1alpha1',
  kind: 'SandboxSnapshot',
  metadata: { namespace: 'team', name: 'saved', uid: 'saved-uid' },
  spec: { sandboxName: 'notebook', whenSaved: 'StayPaused' },
  status: { phase: 'Ready', ...status },
});
const restoring = (restore: Partial<Restore>): SandboxSnapshot =>
  hibernation({
    restore: { podName: 'notebook', podUID: 'pod-2', nodeName: 'node-1', state: 'Announced', at: AT, ...restore },
  });
const listData = (snapshot: SandboxSnapshot): object[] =>
  [...snapshotFactSource.listFacts(snapshot)].map(({ type, data }) => ({ type, ...data() }));

describe('the events of a hibernation', () => {
  it.each([
    ['memory', { fingerprint: 'f1', hasFiles: true }, 'Memory'],
    ['memory without files', { fingerprint: 'f1' }, 'Memory'],
    ['files alone', { hasFiles: true }, 'Files'],
  ] as const)('say that %s is saved', (_, status, kept) => {
    const [, hibernated] = listData(hibernation({ savedAt: AT, sizeBytes: 5, ...status }));
    expect(hibernated).toMatchObject({ type: 'sandbox.hibernated', kept });
  });

  it.each([
    ['goes on with its memory', { state: 'Restored' }, { type: 'sandbox.restored', kept: 'Memory' }],
    ['boots with its files', { state: 'Restored', only: 'files' }, { type: 'sandbox.restored', kept: 'Files' }],
    [
      'could not be restored',
      { state: 'Failed', message: 'damaged' },
      { type: 'sandbox.restore.failed', kept: 'Memory', message: 'damaged', podName: 'notebook' },
    ],
    ['could not get its files', { state: 'Failed', only: 'files' }, { type: 'sandbox.restore.failed', kept: 'Files' }],
  ] as const)('say that a Pod %s', (_, restore, wanted) => {
    expect(listData(restoring(restore))).toMatchObject([wanted]);
  });

  it.each(['Announced', 'Withdrawn'] as const)('say nothing of a restore that is %s', (state) => {
    expect(listData(restoring({ state }))).toEqual([]);
  });
});
