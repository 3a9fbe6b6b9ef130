// `npm run doctor`: checks that this machine has what `npm run up` and `npm test` need, and says how to add what is missing.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

const PINNED_NODE = 'v24.21.0';
const MIN_MEMORY_GIB = 6;

interface Finding {
  readonly name: string;
  readonly found: string;
  readonly advice?: string;
}

function goVersion(): string | undefined {
  try {
    return execFileSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

function listFindings(): Finding[] {
  const go = goVersion();
  const memoryGib = totalmem() / 2 ** 30;
  const need = (ok: boolean, advice: string): { advice?: string } => (ok ? {} : { advice });
  return [
    {
      name: 'node',
      found: process.version,
      ...need(process.version === PINNED_NODE, `${PINNED_NODE} is pinned: run npm ci`),
    },
    { name: 'go', found: go ?? 'missing', ...need(go !== undefined, 'install Go 1.26.6 or newer') },
    {
      name: 'root',
      found: String(process.getuid?.() === 0),
      ...need(process.getuid?.() === 0, 'a real node needs root; npm run up -- --simulated does not'),
    },
    {
      name: 'apt',
      found: String(existsSync('/usr/bin/apt-get')),
      ...need(existsSync('/usr/bin/apt-get'), 'Debian packages are installed with apt-get'),
    },
    { name: 'cores', found: String(cpus().length), ...need(cpus().length >= 2, 'two cores or more') },
    {
      name: 'memory',
      found: `${memoryGib.toFixed(1)} GiB`,
      ...need(memoryGib >= MIN_MEMORY_GIB, `${MIN_MEMORY_GIB} GiB or more`),
    },
  ];
}

const all = listFindings();
for (const { name, found, advice } of all) {
  console.log(
    `${advice === undefined ? 'ok  ' : 'FIX '} ${name.padEnd(8)} ${found.padEnd(12)} ${advice ?? ''}`.trimEnd(),
  );
}
process.exitCode = all.some(({ advice }) => advice !== undefined) ? 1 : 0;
