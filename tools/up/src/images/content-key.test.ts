import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { computeContentKey } from './content-key.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'content-key-'));
  await Promise.all([
    writeFile(join(folder, 'a'), 'one'),
    writeFile(join(folder, 'b'), 'one'),
    writeFile(join(folder, 'c'), 'two'),
  ]);
});
afterAll(() => rm(folder, { recursive: true }));

const file = (source: string, target = 'main.js') => [{ target, source: join(folder, source) }];

describe('computeContentKey', () => {
  it('is the same for the same content in different folders', async () => {
    expect(await computeContentKey(['x'], file('a'))).toBe(await computeContentKey(['x'], file('b')));
  });

  it('changes with a text, a file, a file name and the boundaries between texts', async () => {
    const keys = [
      await computeContentKey(['x'], file('a')),
      await computeContentKey(['y'], file('a')),
      await computeContentKey(['x'], file('c')),
      await computeContentKey(['x'], file('a', 'other.js')),
      await computeContentKey(['x']),
      await computeContentKey(['xy']),
      await computeContentKey(['x', 'y']),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });
});
