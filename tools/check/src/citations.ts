// Fails when a citation of a page below docs/ or a relative link in a Markdown file leads nowhere, and when text cites a
// contract that is not in the repository.
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { listBrokenCitations, listBrokenLinks, listOutsideContracts } from './citations-rules.ts';
import type { Checkout } from './citations-rules.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FILES = '**/*.{ts,mjs,cjs,go,proto,md,yaml,yml,tpl,py,sh}';
/** Folders that hold nothing of the repository's own. */
const FOREIGN = new Set(['node_modules', '.git', '.sandlot', '.turbo', 'dist', 'coverage']);

async function readCheckout(): Promise<Checkout> {
  const texts = new Map<string, string>();
  const found = glob(FILES, { cwd: ROOT, exclude: (path) => FOREIGN.has(basename(path)) });
  for await (const path of found) texts.set(path, await readFile(join(ROOT, path), 'utf8'));
  return { texts, exists: (path) => existsSync(join(ROOT, path)) };
}

const checkout = await readCheckout();
const findings = [listBrokenCitations, listBrokenLinks, listOutsideContracts].flatMap((rule) => rule(checkout));
for (const { path, line, problem } of findings) console.error(`${path}:${line}: ${problem}`);
console.log(`${checkout.texts.size} files, ${findings.length} broken citations and links`);
process.exitCode = findings.length === 0 ? 0 : 1;
