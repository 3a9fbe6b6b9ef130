import {
  buildStartName,
  isHibernationOf,
  labels,
  nameHash,
  needsHibernation,
  sandboxSnapshots,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { getPriority } from '../pacing/priority.ts';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isPodDue } from '../pod/observe-network.ts';
import { readStart } from '../start-memory/start-record.ts';
import { BY_OWNER } from '../wiring/informers.ts';
import type { Collections } from '../writes/collections.ts';
import { findPublishableText } from '../writes/error-text.ts';
import { findMark, sortNewestFirst } from './hibernations.ts';

export interface HibernationDeps {
  readonly client: KubeClient;
  readonly collections: Collections;
  readonly signal: AbortSignal;
}

type Seen = Pick<Snapshot, 'ownedPods' | 'foreignPod' | 'failures'>;
type Found = Pick<Snapshot, 'hibernations' | 'needsMemoryLook' | 'failures'>;

/** The hibernations of the Sandbox, from the cache unless a decision could not be taken back. */
export async function observeHibernations(deps: HibernationDeps, sandbox: Sandbox, seen: Seen): Promise<Found> {
  const { hibernations } = deps.collections;
  const { failures } = seen;
  if (hibernations === undefined) return { hibernations: [], needsMemoryLook: false, failures };
  const known = listOwn(sandbox, hibernations.own.listByIndex(BY_OWNER, sandbox.metadata.uid ?? ''));
  const { isDue, needsMemoryLook } = planLook(sandbox, seen, known);
  if (!isDue) return { hibernations: known, needsMemoryLook, failures };
  try {
    const live = readStart(sandbox).kind === 'chosen' ? await readCopy(deps, sandbox) : await listLive(deps, sandbox);
    return { hibernations: listOwn(sandbox, live), needsMemoryLook: false, failures };
  } catch (error) {
    const message = findPublishableText(error);
    if (message === undefined) throw error;
    return { hibernations: known, needsMemoryLook, failures: [...failures, { phase: 'hibernation', message }] };
  }
}

/** Whether this pass has to read from the API server, and, if it does not, whether it may create no Pod for that. */
export function planLook(
  sandbox: Sandbox,
  seen: Seen,
  known: readonly SandboxSnapshot[],
): { readonly isDue: boolean; readonly needsMemoryLook: boolean } {
  const needsMemoryLook = mayHaveMemory(sandbox, known);
  const isDue = isPodDue(sandbox, seen) ? needsMemoryLook : isMemoryOfPodUnknown(sandbox, seen, known);
  return { isDue, needsMemoryLook: needsMemoryLook && !isDue };
}

function listOwn(sandbox: Sandbox, found: Iterable<SandboxSnapshot>): SandboxSnapshot[] {
  return sortNewestFirst([...found].filter((each) => isHibernationOf(each, sandbox)));
}

/**
 * Whether the next Pod may have a memory to continue from. It must neither begin anew beside one nor continue from one that a
 * Pod has had, and the cache may lag. A Sandbox of the first generation was never suspended, and one without a status never had
 * a Pod that was moved from its node. Before a copy is recorded no Pod
 * was made from it, so the cache will do.
 */
function mayHaveMemory(sandbox: Sandbox, known: readonly SandboxSnapshot[]): boolean {
  const { kind } = readStart(sandbox);
  if (kind === 'chosen') return true;
  if (kind === 'open') return false;
  const isNew = (sandbox.metadata.generation ?? 1) <= 1 && sandbox.status?.observedGeneration === undefined;
  return !isNew && (needsHibernation(sandbox.spec) || known.length > 0);
}

/** Whether the Pod may be useless, because its hibernation is gone, or has started from one. That has to be certain. */
function isMemoryOfPodUnknown(
  sandbox: Sandbox,
  { ownedPods: [pod] }: Seen,
  known: readonly SandboxSnapshot[],
): boolean {
  if (pod === undefined || isTerminating(pod)) return false;
  const isOpen = pod.status?.phase === 'Pending' || readStart(sandbox).kind === 'chosen';
  if (!isOpen) return false;
  const mark = findMark(pod);
  return mark !== undefined && !known.some(({ metadata }) => metadata.uid === mark);
}

/** Until its start is over, a Sandbox has no other memory. A read by name costs less than a list of the namespace. */
async function readCopy({ client, signal }: HibernationDeps, sandbox: Sandbox): Promise<SandboxSnapshot[]> {
  const { namespace, name = '', uid = '' } = sandbox.metadata;
  const key = { namespace, name: buildStartName(name, uid) };
  const copy = await client.find(sandboxSnapshots, key, { signal, priority: getPriority(sandbox) });
  return copy === undefined ? [] : [copy];
}

async function listLive({ client, signal }: HibernationDeps, sandbox: Sandbox): Promise<SandboxSnapshot[]> {
  const { namespace, name = '' } = sandbox.metadata;
  const labelSelector = `${labels.nameHash}=${nameHash(name)}`;
  const priority = getPriority(sandbox);
  const { items } = await client.listAll(sandboxSnapshots, { namespace, labelSelector, signal, priority });
  return items;
}
