// `mcp-gateway` with the places of a test: a folder of its own and a free port.
import { join } from 'node:path';
import { systemClock, systemRandom } from '@sandlot/std';
import type { Places } from '../src/places.ts';
import { run } from '../src/run.ts';
import { formatFailure } from '../src/serve.ts';
import { testCatalogue } from './servers.ts';

const [root = '', port = '', ...argv] = process.argv.slice(2);
const places: Places = {
  catalogue: testCatalogue,
  folders: { servers: root, python: root, home: root },
  port: Number(port),
  state: join(root, 'state'),
  log: join(root, 'log'),
  user: undefined,
};
try {
  const status = await run({
    argv,
    env: process.env,
    places,
    clock: systemClock,
    random: systemRandom,
    self: [process.execPath, import.meta.filename, root, port],
    out: (text) => process.stdout.write(text),
  });
  if (status !== undefined) process.exit(status);
} catch (error) {
  process.stderr.write(`${formatFailure(error)}\n`);
  process.exit(1);
}
