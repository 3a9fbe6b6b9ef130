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
type Found = Pick<Snapshot, 'hibernations' | 'failures'>;

/** The hibernations of the Sandbox, from the cache unless a decision could not be taken back. */
export async function observeHibernations(deps: HibernationDeps, sandbox: Sandbox, seen: Seen): Promise<Found> {
  const { hibernations } = deps.collections;
  if (hibernations === undefined) return { hibernations: [], failures: seen.failures };
  const known = listOwn(sandbox, hibernations.own.listByIndex(BY_OWNER, sandbox.metadata.uid ?? ''));
  if (!needsLiveList(sandbox, seen, known)) return { hibernations: known, failures: seen.failures };
  try {
    return { hibernations: listOwn(sandbox, await listLive(deps, sandbox)), failures: seen.failures };
  } catch (error) {
    const message = findPublishableText(error);
    if (message === undefined) throw error;
    return { hibernations: known, failures: [...seen.failures, { phase: 'hibernation', message }] };
  }
}

function listOwn(sandbox: Sandbox, found: Iterable<SandboxSnapshot>): SandboxSnapshot[] {
  return sortNewestFirst([...found].filter((each) => isHibernationOf(each, sandbox)));
}

/**
 * Whether the caches may lag too far behind each other: the next Pod must neither begin anew beside a saved memory nor
 * continue from one that a Pod has had, and a Pod may be useless only if its hibernation is certainly gone. A Sandbox of the
 * first generation was never suspended.
 */
function needsLiveList(sandbox: Sandbox, seen: Seen, known: readonly SandboxSnapshot[]): boolean {
  if (isPodDue(sandbox, seen)) {
    const wasEdited = (sandbox.metadata.generation ?? 1) > 1;
    return wasEdited && (needsHibernation(sandbox.spec) || known.length > 0);
  }
  const [pod] = seen.ownedPods;
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
