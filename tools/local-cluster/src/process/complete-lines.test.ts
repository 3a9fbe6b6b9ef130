import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readCompleteLines } from './complete-lines.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lines-'));
});
afterEach(() => rm(folder, { recursive: true }));

it.each([
  ['leaves out an unfinished last line', 'a\nb\nc', ['a', 'b']],
  ['returns a last line that ends in a newline', 'a\nb\n', ['a', 'b']],
  ['returns nothing for an empty file', '', []],
  ['returns a line longer than one read chunk whole', `${'x'.repeat(200_000)}\ny\n`, ['x'.repeat(200_000), 'y']],
])('%s', async (_, text, lines) => {
  const path = join(folder, 'log');
  await writeFile(path, text);
  expect(await readCompleteLines(path)).toEqual(lines);
});
