// Every test that the threat model names exists. Whether its links lead to a file is checked by citations.ts.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findMissingTests } from './threat-rules.ts';

const PAGE = join(import.meta.dirname, '../../../../docs/security/threat-model.md');

const problems = findMissingTests(readFileSync(PAGE, 'utf8'), (path) => {
  const file = join(dirname(PAGE), path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
});
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
