import { computeMedian } from '../support/median.ts';
import type { GoldenTimes } from './golden.ts';
import type { RawTimes } from './raw.ts';
import type { PodSaved } from './same-pod.ts';
import type { Forked, Slept, Snapshotted } from './stand.ts';

/** The rounds of one size; times in milliseconds. */
export interface Measured {
  readonly mebibytes: number;
  readonly raw: readonly RawTimes[];
  readonly samePod: readonly PodSaved[];
  readonly barePodMs: readonly number[];
  readonly snapshots: readonly Snapshotted[];
  readonly sleeps: readonly Slept[];
  readonly forksOf1: readonly Forked[];
  readonly forksOf10: readonly Forked[];
}

interface Row {
  readonly name: string;
  readonly values: (measured: Measured) => readonly number[];
  /** What the goal of the row counts from. */
  readonly floor?: (measured: Measured, smallest: Measured) => number;
}

const rawSave = ({ raw }: Measured): number => computeMedian(raw.map(({ saveMs }) => saveMs));
const podSave = ({ samePod }: Measured): number => computeMedian(samePod.map(({ saveMs }) => saveMs));
const rawRestore = ({ raw }: Measured): number => computeMedian(raw.map(({ restoreMs }) => restoreMs));
const barePod = ({ barePodMs }: Measured): number => computeMedian(barePodMs);
/** What a resume may take: a bare Pod's start, 1.3 raw restores and 50 ms. */
const resumeGoal = (measured: Measured): number => barePod(measured) + 1.3 * rawRestore(measured) + 50;

const rows: readonly Row[] = [
  { name: 'floor: raw `runsc checkpoint` of a bare container', values: ({ raw }) => raw.map(({ saveMs }) => saveMs) },
  { name: 'floor: raw `runsc checkpoint` of the same Pod', values: ({ samePod }) => samePod.map((one) => one.saveMs) },
  {
    name: 'the sandbox stands still in it',
    values: ({ samePod }) => samePod.map((one) => one.standsStillMs),
    floor: podSave,
  },
  {
    name: 'the sandbox stands still in a snapshot (goal 1.3x)',
    values: ({ snapshots }) => snapshots.map((one) => one.standsStillMs),
    floor: podSave,
  },
  {
    name: 'SandboxSnapshot created to Ready',
    values: ({ snapshots }) => snapshots.map((one) => one.readyMs),
    floor: rawSave,
  },
  { name: 'suspend to saved', values: ({ sleeps }) => sleeps.map((one) => one.savedMs), floor: rawSave },
  { name: 'floor: raw `runsc restore`', values: ({ raw }) => raw.map(({ restoreMs }) => restoreMs) },
  { name: 'floor: start of a bare Pod in gVisor', values: ({ barePodMs }) => barePodMs },
  {
    name: 'resume to Ready, to the goal (bare Pod + 1.3 raw restores + 50 ms)',
    values: ({ sleeps }) => sleeps.map((one) => one.readyMs),
    floor: resumeGoal,
  },
  {
    name: 'resume to Ready, to that of the smallest size (goal 1.3x)',
    values: ({ sleeps }) => sleeps.map((one) => one.readyMs),
    floor: (_, smallest) => computeMedian(smallest.sleeps.map((one) => one.readyMs)),
  },
  {
    name: 'resume to Ready of memory that is on the disk alone, to the goal',
    values: ({ sleeps }) => sleeps.map((one) => one.fromDiskMs),
    floor: resumeGoal,
  },
  {
    name: '`connect` to the end of the first command, to the goal',
    values: ({ sleeps }) => sleeps.map((one) => one.commandMs),
    floor: resumeGoal,
  },
  { name: 'fork of 1, to the first command', values: ({ forksOf1 }) => forksOf1.map((one) => one.commandMs) },
  { name: 'fork of 10, to the first command in all', values: ({ forksOf10 }) => forksOf10.map((one) => one.commandMs) },
];

/** Bytes that are stored. */
const sizes: readonly Omit<Row, 'floor'>[] = [
  { name: 'stored by one snapshot', values: ({ snapshots }) => snapshots.map((one) => one.bytes) },
  { name: 'stored at most during a fork of 1', values: ({ forksOf1 }) => forksOf1.map((one) => one.storedBytes) },
  { name: 'stored at most during a fork of 10', values: ({ forksOf10 }) => forksOf10.map((one) => one.storedBytes) },
];

/** A Markdown table: the median of each row, with its ratio to its floor of the same run. */
export function renderReport(all: readonly Measured[]): string {
  const head = ['median', ...all.map(({ mebibytes }) => `${mebibytes} MiB`)];
  const smallest = findSmallest(all);
  const lines = rows.map((row) => [row.name, ...all.map((measured) => renderCell(row, measured, smallest))]);
  const stored = sizes.map(({ name, values }) => [name, ...all.map((one) => formatMiB(computeMedian(values(one))))]);
  const made = ['forks made of 10', ...all.map(({ forksOf10 }) => forksOf10.map((one) => one.made).join(', '))];
  const rule = head.map((_, index) => (index === 0 ? '---' : '---:'));
  return [head, rule, ...lines, made, ...stored].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A sentence: what a member costs that boots, and one that is restored, to the goal of a resume of the smallest size. */
export function renderGolden({ bootedMs, restoredMs }: GoldenTimes, all: readonly Measured[]): string {
  const median = computeMedian(restoredMs);
  const ratio = (median / resumeGoal(findSmallest(all))).toFixed(2);
  return `A golden pool whose program starts for 20 s: its first member boots in ${bootedMs.toFixed(0)} ms; each further one is Ready after ${median.toFixed(0)} ms, ${ratio}x the goal of a resume.`;
}

function findSmallest(all: readonly Measured[]): Measured {
  const [smallest] = all.toSorted((a, b) => a.mebibytes - b.mebibytes);
  if (smallest === undefined) throw new Error('no size was measured');
  return smallest;
}

function renderCell({ values, floor }: Row, measured: Measured, smallest: Measured): string {
  const median = computeMedian(values(measured));
  const time = `${median.toFixed(0)} ms`;
  return floor === undefined ? time : `${time}, ${(median / floor(measured, smallest)).toFixed(2)}x`;
}

const formatMiB = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
