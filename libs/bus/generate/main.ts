/**
 * Part of `npm run generate`: writes the JSON Schemas and the AsyncAPI document of the event catalogue to docs/events.
 * `--check` writes nothing and fails when a committed file differs.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { listOutputs } from './outputs.ts';

const root = join(import.meta.dirname, '../../..');
const { values: flags } = parseArgs({ options: { check: { type: 'boolean' } } });

for (const { path, text } of listOutputs()) {
  if (flags.check === true) {
    const committed = await readFile(join(root, path), 'utf8').catch(() => '');
    if (committed === text) continue;
    console.error(`${path} is not what libs/bus generates; run: npm run generate`);
    process.exitCode = 1;
  } else {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
    console.log(`wrote ${path}`);
  }
}
