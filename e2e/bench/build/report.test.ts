import { expect, it } from 'vitest';
import { formatReport } from './report.ts';

it('compares the medians of both ways, and counts polls by replica', () => {
  const builds = {
    cold: { byHandMs: [1_000, 9_000, 2_000], sandlotMs: [3_000, 3_000, 9_000] },
    cached: { byHandMs: [500], sandlotMs: [250] },
    changed: { byHandMs: [1_000], sandlotMs: [1_000] },
  };
  expect(formatReport({ builds, firstSandboxMs: [4_000], pollsPerSecond: 900, replicas: 2 }).split('\n')).toEqual([
    '| | buildah, with push | Sandlot | ratio |',
    '| --- | ---: | ---: | ---: |',
    '| five steps, cold (goal 1.3x) | 2.00 s | 3.00 s | 1.50 x |',
    '| the same again (goal 1.1x) | 0.50 s | 0.25 s | 0.50 x |',
    '| with another last step | 1.00 s | 1.00 s | 1.00 x |',
    '',
    '- from the request of a cold build to a command in its first sandbox: 4.00 s',
    '- status polls a second of one replica of the API: 450',
  ]);
});
