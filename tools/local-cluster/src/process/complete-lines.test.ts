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
  ['one that is being written is not there yet', 'a\nb\nc', ['a', 'b']],
  ['one that has its end is', 'a\nb\n', ['a', 'b']],
  ['nothing is in an empty file', '', []],
  ['one longer than what is read at a time is whole', `${'x'.repeat(200_000)}\ny\n`, ['x'.repeat(200_000), 'y']],
])('%s', async (_, text, lines) => {
  const path = join(folder, 'log');
  await writeFile(path, text);
  expect(await readCompleteLines(path)).toEqual(lines);
});
