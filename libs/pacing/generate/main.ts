/**
 * Part of `npm run generate`: writes the tables of the README. `--check` writes nothing and fails when the committed file
 * differs.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { withTables } from './readme.ts';

const path = join(import.meta.dirname, '../README.md');
const { values: flags } = parseArgs({ options: { check: { type: 'boolean' } } });

const committed = await readFile(path, 'utf8');
const text = await withTables(committed);
if (flags.check !== true) {
  await writeFile(path, text);
  console.log('wrote libs/pacing/README.md');
} else if (committed !== text) {
  console.error('libs/pacing/README.md is not what libs/pacing generates; run: npm run generate');
  process.exitCode = 1;
}
