import { isUploaded } from '@sandlot/api-types';
import { formatTable } from '../table.ts';
import type { Candidate } from './candidates.ts';
import type { Outcome } from './refresh-one.ts';
import type { Kept } from './watch-snapshots.ts';

const LOST: Readonly<Record<Kept, string>> = {
  Memory: 'nothing',
  Files: 'processes',
  Volumes: 'processes and files',
};

/** A line for each Sandbox that sleeps with its memory. */
export function formatCandidates(candidates: readonly Candidate[]): string {
  if (candidates.length === 0) return 'No Sandbox sleeps with its memory.';
  return formatTable([
    ['NAMESPACE', 'SANDBOX', 'NODE', 'IN BUCKET', 'WAKES WITH', 'SAVED BY'],
    ...candidates.map(listCells),
  ]);
}

function listCells({ sandbox: { metadata }, snapshot, outlook, obstacle }: Candidate): string[] {
  const { namespace = '', name = '' } = metadata;
  if (snapshot === undefined)
    return [namespace, name, '-', '-', 'it is awake', 'a refresh was interrupted: run it again'];
  const { nodeName = '-', fingerprintText = '' } = snapshot.status ?? {};
  const note = obstacle === undefined ? fingerprintText : `${fingerprintText}; ${obstacle}`;
  return [namespace, name, nodeName, isUploaded(snapshot) ? 'yes' : 'no', outlook, note];
}

/** One line about a refresh that has ended, while others go on. */
export function formatProgress({ namespace, name, problem, note, woke }: Outcome): string {
  return `${namespace}/${name}: ${problem ?? note ?? `refreshed, lost ${formatLoss(woke)}`}`;
}

/** All outcomes, and how many there were of each kind. */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  if (outcomes.length === 0) return 'Nothing to refresh.';
  const rows = outcomes.map(({ namespace, name, woke, sleeps = '-', node = '-', problem, note }) => [
    namespace,
    name,
    formatLoss(woke),
    sleeps,
    node,
    problem ?? note ?? '',
  ]);
  const table = formatTable([['NAMESPACE', 'SANDBOX', 'LOST', 'SLEEPS WITH', 'NODE', 'NOTE'], ...rows]);
  const failed = outcomes.filter(({ problem }) => problem !== undefined).length;
  const left = outcomes.filter(({ note }) => note !== undefined).length;
  return `${table}\n\n${outcomes.length - failed - left} refreshed, ${left} left alone, ${failed} failed`;
}

const formatLoss = (woke: Kept | undefined): string => (woke === undefined ? '-' : LOST[woke]);
