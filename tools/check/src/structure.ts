// `npm run structure`: folders stay small, the top of a service stays a table of contents, test support stays out of src.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findStructureProblems } from './structure-rules.ts';

const ROOT = join(import.meta.dirname, '../../..');

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
const files = tracked.split('\0').filter((file) => file !== '');
const problems = findStructureProblems(files, (file) => readFileSync(join(ROOT, file), 'utf8').split('\n').length);
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
