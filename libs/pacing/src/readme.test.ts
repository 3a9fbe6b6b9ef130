import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTables } from '../generate/readme.ts';
import { mechanisms } from './table.ts';

const root = join(import.meta.dirname, '../../..');

it('the README has the tables of the code', async () => {
  const readme = readFileSync(join(root, 'libs/pacing/README.md'), 'utf8');
  expect(await withTables(readme)).toBe(readme);
});

describe('a mechanism', () => {
  const uses = Object.entries(mechanisms).flatMap(([name, { usedIn }]) => usedIn.map((file) => [name, file] as const));

  it.each(uses)('%s is read in %s', (name, file) => {
    const source = readFileSync(join(root, file), 'utf8');
    expect(source).toMatch(new RegExp(`pacing\\.${name}\\b|\\b${name} \\} = pacing\\b`));
  });
});
