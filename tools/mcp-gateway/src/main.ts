// `mcp-gateway`: what the clients of E2B start in a sandbox that asks for MCP servers.
import { systemClock, systemRandom } from '@sandlot/std';
import { formatFailure } from './serve.ts';
import { imagePlaces } from './places.ts';
import { run } from './run.ts';

try {
  const status = await run({
    argv: process.argv.slice(2),
    env: process.env,
    places: imagePlaces,
    clock: systemClock,
    random: systemRandom,
    self: [process.execPath, import.meta.filename],
    out: (text) => process.stdout.write(text),
  });
  // A start leaves a timer and a process behind.
  if (status !== undefined) process.exit(status);
} catch (error) {
  process.stderr.write(`${formatFailure(error)}\n`);
  process.exit(1);
}
