// The supply chain as far as the lock files show it. Databases of vulnerabilities are asked by .github/workflows/audit.yml.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findSupplyChainProblems } from './supply-chain-rules.ts';
import type { SupplyChain } from './supply-chain-rules.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const listFiles = (pattern: string): string[] =>
  execFileSync('git', ['ls-files', '-z', '--', pattern], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '');
const modules = listFiles('*go.mod').map((file): [string, { mod: string; sum: string }] => {
  const sum = join(dirname(file), 'go.sum');
  return [dirname(file), { mod: read(file), sum: existsSync(join(ROOT, sum)) ? read(sum) : '' }];
});

const problems = findSupplyChainProblems({
  packages: (JSON.parse(read('package-lock.json')) as Pick<SupplyChain, 'packages'>).packages,
  allowScripts: (JSON.parse(read('package.json')) as Pick<SupplyChain, 'allowScripts'>).allowScripts,
  modules: Object.fromEntries(modules),
  requirements: Object.fromEntries(listFiles('*requirements*.txt').map((file) => [file, read(file)])),
});
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
