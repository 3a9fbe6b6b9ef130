import { request } from 'node:http';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Sandbox } from 'e2b';
import type { SandboxOpts } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { restart, rotate } from '../support/releases/rotate.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import { eventually } from '../support/team.ts';

const PORT = 8003;
const SERVE = `python3 -m http.server ${PORT} --bind 127.0.0.1`;

const stack = new AsyncDisposableStack();

/** A sandbox that is killed at the end, at the address that the gateway then has. */
async function open(options: SandboxOpts = {}): Promise<Sandbox> {
  const sandbox = await openSandbox(options);
  stack.defer(async () => {
    await Sandbox.kill(sandbox.sandboxId, await readAccess());
  });
  return sandbox;
}

let before: Sandbox;
let within: Sandbox;
beforeAll(async () => {
  before = await open();
});
afterAll(() => stack.disposeAsync());

/** A stage of the rotation of the gateway's key, after which these Deployments have to be restarted. */
async function rotateKey(stage: 'prepare' | 'switch' | 'finish', ...restarts: readonly string[]): Promise<void> {
  await rotate('gateway-key', 'signing', stage);
  for (const name of restarts) await restart(`deployment/${name}`);
}

/** The status of a server that listens on loopback in the sandbox: the gateway reaches it only by its proof. */
async function askLoopback(sandbox: Sandbox): Promise<number> {
  const { hostname, port } = new URL((await readAccess()).sandboxUrl);
  const sent = request({ agent: false, hostname, port, headers: { Host: sandbox.getHost(PORT) } }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

const say = async (sandbox: Sandbox): Promise<string> => (await sandbox.commands.run('echo $((6 * 7))')).stdout;

/** Runs a command in both sandboxes again and again until `stop` is called, which returns the answers by how often they came. */
function keepAsking(): () => Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const stop = new AbortController();
  const asking = (async () => {
    while (!stop.signal.aborted) {
      const asked = [say(before), say(within), askLoopback(within).then(String)];
      const answers = await Promise.all(asked.map((answer) => answer.catch((error: unknown) => String(error))));
      for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
    }
  })();
  return async () => {
    stop.abort();
    await asking;
    return counts;
  };
}

it('sandboxes answer every command while the key of the gateway is rotated', async () => {
  await rotateKey('prepare', 'sandbox-controller');
  // Members of the pool are from before. A template without a pool would take longer than to renew one Pod.
  const metadata = { name: 'keys' };
  within = await open({ metadata });
  await within.pause();
  within = await Sandbox.connect(within.sandboxId, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
  await within.commands.run(SERVE, { background: true });
  await eventually('the server listens', async () => ((await askLoopback(within)) === 200 ? true : undefined));
  const stop = keepAsking();
  await rotateKey('switch', 'sandbox-controller', 'gateway');
  await rotateKey('finish', 'sandbox-controller');
  const counts = await stop();
  expect(Object.keys(counts).toSorted()).toEqual(['200', '42\n']);
});
