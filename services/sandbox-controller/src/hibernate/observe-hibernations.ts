import { isHibernationOf, labels, nameHash, needsHibernation, sandboxSnapshots } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { KubeClient } from '@sandlot/kube';
import { getPriority } from '../pacing/priority.ts';
import { isTerminating } from '../plan/snapshot.ts';
import type { Snapshot } from '../plan/snapshot.ts';
import { isPodDue } from '../pod/observe-network.ts';
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
  const needsMemoryLook = mayHaveMemory(sandbox, known);
  const isNeeded = isPodDue(sandbox, seen) ? needsMemoryLook : isMemoryOfPodUnknown(seen, known);
  if (!isNeeded) return { hibernations: known, needsMemoryLook, failures };
  try {
    return { hibernations: listOwn(sandbox, await listLive(deps, sandbox)), needsMemoryLook: false, failures };
  } catch (error) {
    const message = findPublishableText(error);
    if (message === undefined) throw error;
    return { hibernations: known, needsMemoryLook, failures: [...failures, { phase: 'hibernation', message }] };
  }
}

function listOwn(sandbox: Sandbox, found: Iterable<SandboxSnapshot>): SandboxSnapshot[] {
  return sortNewestFirst([...found].filter((each) => isHibernationOf(each, sandbox)));
}

/**
 * Whether the next Pod may have a memory to continue from. It must neither begin anew beside one nor continue from one that a
 * Pod has had, and the cache may lag. A Sandbox of the first generation was never suspended.
 */
function mayHaveMemory({ metadata, spec }: Sandbox, known: readonly SandboxSnapshot[]): boolean {
  return (metadata.generation ?? 1) > 1 && (needsHibernation(spec) || known.length > 0);
}

/** Whether the Pod may be useless, because its hibernation is gone. That has to be certain. */
function isMemoryOfPodUnknown({ ownedPods: [pod] }: Seen, known: readonly SandboxSnapshot[]): boolean {
  if (pod === undefined || isTerminating(pod) || pod.status?.phase !== 'Pending') return false;
  const mark = findMark(pod);
  return mark !== undefined && !known.some(({ metadata }) => metadata.uid === mark);
}

async function listLive({ client, signal }: HibernationDeps, sandbox: Sandbox): Promise<SandboxSnapshot[]> {
  const { namespace, name = '' } = sandbox.metadata;
  const labelSelector = `${labels.nameHash}=${nameHash(name)}`;
  const priority = getPriority(sandbox);
  const { items } = await client.listAll(sandboxSnapshots, { namespace, labelSelector, signal, priority });
  return items;
}
