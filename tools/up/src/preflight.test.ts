import { describe, expect, it } from 'vitest';
import type { Machine } from './preflight.ts';
import { obstacles } from './preflight.ts';

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

describe('obstacles to a real node', () => {
  it('are none on a machine that has everything', () => {
    expect(obstacles(fit)).toEqual([]);
  });

  it.each([
    ['without root, with the way that needs none', { root: false }, /npm run up -- --simulated/],
    ['another system', { platform: 'darwin' }, /this is darwin/],
    ['no Go', { go: false }, /Go 1\.26.*go\.dev/],
    ['no apt-get', { apt: false, systemName: 'Fedora Linux 44' }, /apt-get.*Fedora Linux 44/],
    ['little memory', { memoryBytes: 2 * GIB }, /3 GiB of memory are needed; there are 2\.0/],
    ['little disk', { freeDiskBytes: GIB / 2 }, /8 GiB of free disk are needed; there are 0\.5/],
  ])('are named: %s', (_, difference, text) => {
    const found = obstacles({ ...fit, ...difference });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(text);
  });

  it('are all named at once', () => {
    expect(obstacles({ ...fit, root: false, go: false, memoryBytes: 0 })).toHaveLength(3);
  });
});
