/**
 * `npm run generate`: writes the CRDs of the chart, the embedded Kubernetes types and the tables of docs/reference.
 * `--check` writes nothing and fails when a committed file differs. `--snapshot` first takes the OpenAPI snapshot anew
 * from the pinned API server.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildReferencePages } from './docs/pages.ts';
import { listOutputs } from './outputs.ts';
import type { Output } from './outputs.ts';
import { formatSnapshot, parseSnapshot, snapshotFile } from './snapshot.ts';

const root = join(import.meta.dirname, '../../..');
const { values: flags } = parseArgs({ options: { check: { type: 'boolean' }, snapshot: { type: 'boolean' } } });

if (flags.snapshot === true) {
  const { readSnapshotOfPinnedServer } = await import('./server.ts');
  await writeFile(snapshotFile, formatSnapshot(await readSnapshotOfPinnedServer()));
}
const snapshot = parseSnapshot(await readFile(snapshotFile, 'utf8'));
const pages = await buildReferencePages((path) => readFile(join(root, path), 'utf8'));
const outputs = [...listOutputs(snapshot), ...pages];
if (flags.check === true) await check(outputs);
else await write(outputs);

async function write(files: readonly Output[]): Promise<void> {
  for (const { path, text } of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
    console.log(`wrote ${path}`);
  }
}

async function check(files: readonly Output[]): Promise<void> {
  for (const { path, text } of files) {
    const committed = await readFile(join(root, path), 'utf8').catch(() => '');
    if (committed === text) continue;
    console.error(`${path} is not what libs/api-types generates; run: npm run generate`);
    process.exitCode = 1;
  }
}
