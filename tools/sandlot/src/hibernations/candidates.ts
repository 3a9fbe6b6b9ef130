// Which Sandboxes sleep with their memory, and what their next wake would begin with. Pure.
import {
  hasUnresponsiveDaemon,
  hasWantedMemory,
  isDraining,
  isHibernationOf,
  isRestorable,
  isUploaded,
  labels,
  resolveMode,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import type { Node } from '@sandlot/kube';
import { isBegun } from './decide.ts';

/** What the command sees of a cluster. */
export interface Cluster {
  readonly sandboxes: readonly Sandbox[];
  readonly snapshots: readonly SandboxSnapshot[];
  readonly nodes: readonly Node[];
}

/** What a wake begins with. `Unknown`: the node component of the node does not say at present which gVisor the node has. */
export type Outlook = 'Memory' | 'Files' | 'Volumes' | 'Unknown';

/** A Sandbox that sleeps with its memory, or that an earlier run has woken and has not suspended again. */
export interface Candidate {
  readonly sandbox: Sandbox;
  /** Undefined: an earlier run has woken the Sandbox. */
  readonly snapshot?: SandboxSnapshot | undefined;
  readonly outlook: Outlook;
  /** Why a refresh leaves it alone. */
  readonly obstacle?: string | undefined;
}

/** All candidates. With `node` those alone whose memory lies there, and those of an earlier run. */
export function listCandidates(cluster: Cluster, node?: string): Candidate[] {
  return cluster.sandboxes.flatMap((sandbox) => {
    if (sandbox.metadata.deletionTimestamp !== undefined) return [];
    if (isBegun(sandbox)) return [{ sandbox, outlook: 'Unknown' as const }];
    const snapshot = findMemory(sandbox, cluster.snapshots);
    const isWanted = node === undefined || snapshot?.status?.nodeName === node;
    return snapshot === undefined || !isWanted ? [] : [buildCandidate(sandbox, snapshot, cluster.nodes)];
  });
}

/** Whether a refresh has something to do: the memory could not be restored, or a run was killed. `all` takes the others too. */
export function needsRefresh({ sandbox, outlook }: Candidate, all: boolean): boolean {
  return all || isBegun(sandbox) || outlook === 'Files' || outlook === 'Volumes';
}

/** The hibernation with the memory of a Sandbox that sleeps. The status knows what an edit of the Pod template has made useless. */
function findMemory(sandbox: Sandbox, snapshots: readonly SandboxSnapshot[]): SandboxSnapshot | undefined {
  if (resolveMode(sandbox.spec) === 'Running' || sandbox.status?.keeps !== 'Memory') return undefined;
  const isOfIt = (each: SandboxSnapshot): boolean => isHibernationOf(each, sandbox) && isRestorable(each);
  return snapshots.find((each) => isOfIt(each) && hasWantedMemory(each, sandbox));
}

function buildCandidate(sandbox: Sandbox, snapshot: SandboxSnapshot, nodes: readonly Node[]): Candidate {
  const places = isUploaded(snapshot) ? nodes : nodes.filter(({ metadata }) => metadata.name === getNode(snapshot));
  const outlook = judgeOutlook(snapshot, places);
  const obstacle = outlook === 'Unknown' ? noNode(snapshot) : findObstacle({ sandbox, snapshot, outlook }, places);
  return { sandbox, snapshot, outlook, obstacle };
}

/** `places` are the nodes that the data can reach. */
function judgeOutlook({ status }: SandboxSnapshot, places: readonly Node[]): Outlook {
  const found = places.map(({ metadata }) => metadata.labels?.[labels.snapshotFingerprint]);
  if (found.includes(status?.fingerprint)) return 'Memory';
  if (found.every((fingerprint) => fingerprint === undefined)) return 'Unknown';
  return status?.hasFiles === true ? 'Files' : 'Volumes';
}

function findObstacle({ sandbox, snapshot, outlook }: Candidate, places: readonly Node[]): string | undefined {
  if (places.every(isDraining)) return `every node that has its data is being emptied: uncordon ${describe(snapshot)}`;
  const isHung = outlook === 'Memory' && hasUnresponsiveDaemon(sandbox);
  return isHung ? 'its daemon did not answer when it was paused, and would not answer again' : undefined;
}

const getNode = (snapshot: SandboxSnapshot | undefined): string => snapshot?.status?.nodeName ?? '';

const describe = (snapshot: SandboxSnapshot | undefined): string =>
  getNode(snapshot) === '' ? 'one with the right gVisor' : `node ${getNode(snapshot)}`;

const noNode = (snapshot: SandboxSnapshot): string =>
  `no node component that could restore it is Ready: look at ${describe(snapshot)}`;
