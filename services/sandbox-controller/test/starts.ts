import { annotations } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { Snapshot } from '../src/plan/snapshot.ts';
import { buildCopy } from '../src/start-memory/build-copy.ts';
import { notebook } from './builders.ts';
import type { PodParts, SnapshotParts } from './builders.ts';
import { hibernation, later, markedPod, scene } from './hibernations.ts';
import type { HibernationParts } from './hibernations.ts';

type Spec = Partial<Sandbox['spec']>;
type OnFailure = 'Fail' | 'Boot';

/** The Sandbox of every test: it starts from `trained`, and has recorded `record`. */
export function starter(record?: string, { onFailure, ...spec }: Spec & { onFailure?: OnFailure } = {}): Sandbox {
  const restoreFrom = { snapshotName: 'trained', ...(onFailure === undefined ? {} : { onFailure }) };
  const notes = record === undefined ? {} : { [annotations.startMemory]: record };
  const sandbox = notebook({ spec: { restoreFrom, ...spec }, metadata: { annotations: notes, resourceVersion: '9' } });
  return { ...sandbox, status: { observedGeneration: sandbox.metadata.generation } };
}

/** The copy of {@link starter} as the snapshot-controller reports it: complete, unless `parts` say otherwise. */
export function copy({ phase = 'Ready', uid = 'copy-1', ...parts }: HibernationParts = {}): SandboxSnapshot {
  const { metadata, status } = hibernation({ phase, uid, of: 'source-pod', ...parts });
  const base = buildCopy(starter(), 'trained');
  const notes = { ...base.metadata.annotations, ...parts.annotations };
  return { ...base, metadata: { ...metadata, ...base.metadata, annotations: notes }, status };
}

/** The copy before the snapshot-controller has looked at it, made so many seconds from the time of every test. */
export const newCopy = (created = -60): SandboxSnapshot => ({
  ...copy({ created: later(created) }),
  status: undefined,
});

/** What became of the restore of the copy, in {@link startedPod} unless `parts` say otherwise. */
export const outcome = (
  state: NonNullable<SandboxSnapshotStatus['restore']>['state'],
  parts: { readonly podUID?: string; readonly at?: string; readonly message?: string } = {},
): HibernationParts => ({ restore: { podUID: 'pod-1', at: later(-10), ...parts, state } });

/** The Pod that is to be restored from the copy. */
export const startedPod = (parts: PodParts = {}): ReturnType<typeof markedPod> => markedPod('pod-1', 'copy-1', parts);

type Parts = SnapshotParts & { readonly record?: string; readonly onFailure?: OnFailure; readonly spec?: Spec };

/** A snapshot of {@link starter}. */
export function startScene({ record, onFailure, spec = {}, ...parts }: Parts = {}): Snapshot {
  const sandbox = starter(record, { ...spec, ...(onFailure === undefined ? {} : { onFailure }) });
  return scene({ sandbox, ...parts });
}
