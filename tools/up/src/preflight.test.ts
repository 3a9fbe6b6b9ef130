import { describe, expect, it } from 'vitest';
import type { Machine } from './preflight.ts';
import { findObstacles } from './preflight.ts';

const GIB = 2 ** 30;
const fit: Machine = {
  platform: 'linux',
  root: true,
  cpus: 2,
  memoryBytes: 8 * GIB,
  freeDiskBytes: 50 * GIB,
  go: true,
  apt: true,
  systemName: 'Debian GNU/Linux 12 (bookworm)',
};

describe('findObstacles', () => {
  it('finds nothing on a machine that meets all requirements', () => {
    expect(findObstacles(fit)).toEqual([]);
  });

  it.each([
    ['no root, and suggests the simulated cluster', { root: false }, /npm run up -- --simulated/],
    ['another operating system', { platform: 'darwin' }, /this is darwin/],
    ['no Go', { go: false }, /Go 1\.26.*go\.dev/],
    ['no apt-get', { apt: false, systemName: 'Fedora Linux 44' }, /apt-get.*Fedora Linux 44/],
    ['little memory', { memoryBytes: 2 * GIB }, /3 GiB of memory are needed; there are 2\.0/],
    ['little disk', { freeDiskBytes: GIB / 2 }, /8 GiB of free disk are needed; there are 0\.5/],
  ])('names %s', (_, difference, text) => {
    const found = findObstacles({ ...fit, ...difference });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(text);
  });

  it('names all obstacles at once', () => {
    expect(findObstacles({ ...fit, root: false, go: false, memoryBytes: 0 })).toHaveLength(3);
  });
});
