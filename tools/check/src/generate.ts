// `npm run generate`: writes all generated files. Arguments such as --check go to each generator.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const GENERATORS = [
  'libs/api-types/generate/main.ts',
  'libs/bus/generate/main.ts',
  'libs/pacing/generate/main.ts',
  'services/api/generate/main.ts',
  'tools/observability/src/generate.ts',
  'tools/compatibility/src/generate.ts',
];

for (const generator of GENERATORS) {
  const { status } = spawnSync(process.execPath, [join(ROOT, generator), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
