import { computeMedian } from '../support/median.ts';

/** How a build stands to those before it. */
export const cases = ['cold', 'cached', 'changed'] as const;
export type Case = (typeof cases)[number];

/** Times in milliseconds, one of each round. */
export interface Times {
  readonly byHandMs: readonly number[];
  readonly sandlotMs: readonly number[];
}

export interface Figures {
  readonly builds: Readonly<Record<Case, Times>>;
  /** From the request of a cold build to a sandbox that runs a command. */
  readonly firstSandboxMs: readonly number[];
  /** Answers to status polls in a second, by all replicas of the API. */
  readonly pollsPerSecond: number;
  readonly replicas: number;
}

const names: Readonly<Record<Case, string>> = {
  cold: 'five steps, cold (goal 1.3x)',
  cached: 'the same again (goal 1.1x)',
  changed: 'with another last step',
};

const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(2)} s`;

/** Medians, and the ratio to those of buildah in the same run. */
export function formatReport({ builds, firstSandboxMs, pollsPerSecond, replicas }: Figures): string {
  const rows = cases.map((name) => {
    const [byHand, sandlot] = [computeMedian(builds[name].byHandMs), computeMedian(builds[name].sandlotMs)];
    return `| ${names[name]} | ${seconds(byHand)} | ${seconds(sandlot)} | ${(sandlot / byHand).toFixed(2)} x |`;
  });
  return [
    '| | buildah, with push | Sandlot | ratio |',
    '| --- | ---: | ---: | ---: |',
    ...rows,
    '',
    `- from the request of a cold build to a command in its first sandbox: ${seconds(computeMedian(firstSandboxMs))}`,
    `- status polls a second of one replica of the API: ${Math.round(pollsPerSecond / replicas)}`,
  ].join('\n');
}
