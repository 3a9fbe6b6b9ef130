// Plain JavaScript for Node 20 and newer: makes sure the project's own dependencies and its pinned Node are there,
// then hands over to a TypeScript entry point run by that Node. Nothing else may be imported here.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinnedNode = join(root, 'node_modules', '.bin', 'node');
const stamp = join(root, 'node_modules', '.sandlot-lock');

function installDependencies() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const installed = existsSync(pinnedNode) && existsSync(stamp) && readFileSync(stamp, 'utf8') === lock;
  if (installed) return;
  process.stderr.write('Installing npm packages (npm ci), about a minute the first time …\n');
  const npm = spawnSync('npm', ['ci', '--loglevel=error', '--no-fund', '--no-audit'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.status !== 0) {
    process.stderr.write(
      'npm ci failed; its own message is above. Check the network or the npm registry settings and run again.\n',
    );
    process.exit(npm.status ?? 1);
  }
  writeFileSync(stamp, lock);
}

const [major] = process.versions.node.split('.').map(Number);
if (major < 20) {
  process.stderr.write(
    `Node 20 or newer is needed to start; this is ${process.version}. The project then brings its own Node.\n`,
  );
  process.exit(1);
}
const [entry, ...args] = process.argv.slice(2);
if (entry === undefined) {
  process.stderr.write('usage: node tools/bootstrap.mjs ENTRY.ts [arguments]\n');
  process.exit(2);
}
installDependencies();
const env = {
  ...process.env,
  PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH}`,
  TURBO_TELEMETRY_DISABLED: '1',
  NODE_NO_WARNINGS: '1',
};
const child = spawn(pinnedNode, [join(root, entry), ...args], { cwd: root, stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
