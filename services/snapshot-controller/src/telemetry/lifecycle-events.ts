// Lifecycle events of SandboxSnapshots, and of Sandboxes by their memory, derived from the status (docs/events.md).
import { findCondition, snapshotConditions } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
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
  if (restore?.state === 'Restored') {
    const data = () => ({ ...aboutSandbox(snapshot), snapshot: name(snapshot), podName: restore.podName });
    facts.push({ type: 'sandbox.restored', marker: restore.podUID, timeMs: Date.parse(restore.at), data });
  }
  return facts;
}

function listSaveFacts(snapshot: SandboxSnapshot, savedAt: string): AnyFact[] {
  const { sizeBytes = 0, nodeName = '' } = snapshot.status ?? {};
  const at = { marker: savedAt, timeMs: Date.parse(savedAt) };
  const ready: AnyFact = {
    type: 'snapshot.ready',
    ...at,
    data: () => ({ ...about(snapshot), nodeName, sizeBytes }),
  };
  if (snapshot.spec.whenSaved !== 'StayPaused') return [ready];
  const data = () => ({ ...aboutSandbox(snapshot), snapshot: name(snapshot), sizeBytes });
  return [ready, { type: 'sandbox.hibernated', ...at, data }];
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
