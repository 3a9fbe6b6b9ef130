import { describe, expect, test } from 'vitest';
import { findObstacles, parseTag } from './versions.ts';
import type { Versions } from './versions.ts';

const READY: Versions = {
  tag: 'v0.2.0',
  chart: { version: '0.2.0', appVersion: '0.2.0' },
  packages: { 'package.json': '0.2.0' },
  changelog: '## 0.2.0 - 2026-02-01\n\n- New.\n',
};

describe('parseTag', () => {
  test.each([
    ['v1.2.3', '1.2.3'],
    ['v1.2.3-rc.1', '1.2.3-rc.1'],
  ])('reads %s', (tag, version) => {
    expect(parseTag(tag)).toBe(version);
  });

  test.each(['1.2.3', 'v1.2', 'v1.2.3 ', 'version', ''])('refuses "%s"', (tag) => {
    expect(() => parseTag(tag)).toThrow('is no version');
  });
});

describe('findObstacles', () => {
  test('finds none where everything has the version of the tag', () => {
    expect(findObstacles(READY)).toEqual([]);
  });

  test.each<[string, Partial<Versions>, string]>([
    [
      'the chart',
      { chart: { version: '0.1.0', appVersion: '0.2.0' } },
      'Chart.yaml: version is 0.1.0, and the tag says 0.2.0',
    ],
    ['its images', { chart: { version: '0.2.0', appVersion: '0.1.0' } }, 'Chart.yaml: appVersion is 0.1.0, not 0.2.0'],
    [
      'a package',
      { packages: { 'libs/std/package.json': '0.1.0' } },
      'libs/std/package.json: version is 0.1.0, not 0.2.0',
    ],
    ['the changelog', { changelog: '' }, 'CHANGELOG.md has no section "## 0.2.0 - <date>": write one'],
  ])('names %s with another version', (_, change, obstacle) => {
    expect(findObstacles({ ...READY, ...change })).toEqual([obstacle]);
  });
});
