// Lifecycle events of SandboxSnapshots, and of Sandboxes by their memory, derived from the status (docs/events.md).
import { annotations, findCondition, labels, snapshotConditions } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSnapshotStatus } from '@sandlot/api-types';
import type { AnyFact, FactSource } from '@sandlot/outbox';

/** How the outbox derives events from SandboxSnapshots. */
export const snapshotFactSource: FactSource<SandboxSnapshot> = { listFacts };

/** What has happened to a snapshot by its state, in the order of its life. */
function listFacts(snapshot: SandboxSnapshot): readonly AnyFact[] {
  const { phase, savedAt, restore } = snapshot.status ?? {};
  const facts: AnyFact[] = [];
  // A copy is no save: what it has was published with the snapshot that it copies.
  const isSave = snapshot.spec.copyOf === undefined;
  if (savedAt !== undefined && isSave) facts.push(...listSaveFacts(snapshot, savedAt));
  if (phase === 'Failed') facts.push(buildFailure(snapshot));
  if (restore !== undefined) facts.push(...listRestoreFacts(snapshot, restore));
  return facts;
}

type Restore = NonNullable<SandboxSnapshotStatus['restore']>;

/** The UID of the Pod tells a restore of the files from that of the memory, which failed before. */
function listRestoreFacts(snapshot: SandboxSnapshot, restore: Restore): AnyFact[] {
  const { podUID, podName, state, only, message = '' } = restore;
  const at = { marker: podUID, timeMs: Date.parse(restore.at) };
  const data = () => ({
    ...aboutSandbox(snapshot),
    snapshot: name(snapshot),
    podName,
    kept: only === undefined ? ('Memory' as const) : ('Files' as const),
  });
  if (state === 'Restored') return [{ type: 'sandbox.restored', ...at, data }];
  if (state !== 'Failed') return [];
  return [{ type: 'sandbox.restore.failed', ...at, data: () => ({ ...data(), message }) }];
}

function listSaveFacts(snapshot: SandboxSnapshot, savedAt: string): AnyFact[] {
  const { sizeBytes = 0, nodeName = '' } = snapshot.status ?? {};
  const at = { marker: savedAt, timeMs: Date.parse(savedAt) };
  const ready: AnyFact = {
    type: 'snapshot.ready',
    ...at,
    data: () => ({ ...about(snapshot), nodeName, sizeBytes, ...findClient(snapshot) }),
  };
  if (snapshot.spec.whenSaved !== 'StayPaused') return [ready];
  const kept = hasFilesAlone(snapshot) ? ('Files' as const) : ('Memory' as const);
  const data = () => ({ ...aboutSandbox(snapshot), snapshot: name(snapshot), sizeBytes, kept });
  return [ready, { type: 'sandbox.hibernated', ...at, data }];
}

/** The sandbox of which a client of the E2B API asked for the snapshot; forks keep theirs to themselves. */
function findClient({ metadata }: SandboxSnapshot) {
  const { [labels.e2bSnapshot]: kind, [labels.sandboxId]: id } = metadata.labels ?? {};
  const template = metadata.annotations?.[annotations.forkedTemplate] ?? '';
  return kind === 'snapshot' && id !== undefined ? { client: { id, template } } : {};
}

/** Only memory has a fingerprint. */
function hasFilesAlone({ status }: SandboxSnapshot): boolean {
  return status?.hasFiles === true && status.fingerprint === undefined;
}

/** A snapshot fails once, so that its reason and the beginning of the condition tell the event apart. */
function buildFailure(snapshot: SandboxSnapshot): AnyFact {
  const { reason = '', message = '' } = findCondition(snapshot.status?.conditions, snapshotConditions.ready) ?? {};
  return { type: 'snapshot.failed', marker: reason, data: () => ({ ...about(snapshot), reason, message }) };
}

function name({ metadata }: SandboxSnapshot): { readonly name: string; readonly uid: string } {
  return { name: metadata.name ?? '', uid: metadata.uid ?? '' };
}

function about(snapshot: SandboxSnapshot) {
  const { namespace = '' } = snapshot.metadata;
  const { sandboxUID } = snapshot.status?.source ?? {};
  const sandbox = { name: snapshot.spec.sandboxName, ...(sandboxUID === undefined ? {} : { uid: sandboxUID }) };
  return { namespace, ...name(snapshot), sandbox };
}

function aboutSandbox({ metadata, spec, status }: SandboxSnapshot) {
  return { namespace: metadata.namespace ?? '', name: spec.sandboxName, uid: status?.source?.sandboxUID ?? '' };
}
