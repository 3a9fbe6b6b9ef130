// Checks the tables of compatibility and writes them to docs/reference. With --check, reports files that are out of date instead.
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { withBlock } from '@sandlot/api-types/tables';
import { findProblems } from './checks/find-problems.ts';
import { pages } from './pages.ts';
import { renderPage, renderTotals } from './render.ts';
import { readVersions } from './sources.ts';

const ROOT = join(import.meta.dirname, '../../..');
const INDEX = 'docs/reference/compatibility.md';

const read = (path: string): string | undefined => {
  const file = join(ROOT, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};
const problems = findProblems(read);
for (const problem of problems) console.error(`tools/compatibility: ${problem}`);
if (problems.length > 0) process.exitCode = 1;

const index = await readFile(join(ROOT, INDEX), 'utf8');
const versions = readVersions(read);
const outputs = [
  ...pages.map((page) => ({ path: `docs/reference/compatibility/${page.file}`, text: renderPage(page, versions) })),
  { path: INDEX, text: withBlock(index, 'totals', renderTotals(pages, versions)) },
];
for (const { path, text } of outputs) {
  const file = join(ROOT, path);
  if (!process.argv.includes('--check')) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`${path} is not what tools/compatibility generates; run: npm run generate`);
    process.exitCode = 1;
  }
}
