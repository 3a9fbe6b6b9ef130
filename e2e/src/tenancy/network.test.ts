import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';
import { listProxyPlaces, listReachable, listServices, openOutside, readNodeAddress } from '../support/sdk/reach.ts';

const run = promisify(execFile);

/** A public address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.77';
/** The port on which the sandbox of the first tenant serves HTTP. */
const PORT = 7_070;

/** For changes that controllers make asynchronously. */
const SOON = { timeout: 60_000, interval: 200 };

const stack = new AsyncDisposableStack();
let mine: Sandbox;
let address: string;

beforeAll(async () => {
  stack.use(await openOutside(OUTSIDE));
  mine = stack.use(await openSandbox());
  const path = '{.status.sandbox.podIPs[0]}';
  address = await runKubectlOrFail(['get', 'sandboxclaim', '-n', 'tenant-a', mine.sandboxId, '-o', `jsonpath=${path}`]);
  await mine.commands.run(`python3 -m http.server ${PORT}`, { background: true });
});
afterAll(() => stack.disposeAsync());

const canReachOutside = async (sandbox: Sandbox): Promise<boolean> =>
  (await listReachable(sandbox, [`${OUTSIDE}:80`])).length > 0;

describe('the ports of a sandbox', () => {
  const ports = (): string[] => [8_888, 49_983, PORT].map((port) => `${address}:${port}`);

  it('are open to the gateway and to the node with its kubelet', async () => {
    expect((await mine.commands.run('echo through')).stdout).toBe('through\n');
    const page = async (): Promise<string> =>
      (await run('curl', ['--silent', '--max-time', '5', `http://${address}:${PORT}`])).stdout;
    await expect.poll(page, SOON).toContain('Directory listing');
    expect(await listReachable(mine, [`127.0.0.1:${PORT}`])).toEqual([`127.0.0.1:${PORT}`]);
  });

  it.each(['E2B_API_KEY', 'E2B_API_KEY_2'])('are closed to the sandboxes of every tenant: %s', async (key) => {
    await using other = await openSandbox(await readAccess(key));
    expect(await listReachable(other, [...ports(), `${OUTSIDE}:80`])).toEqual([`${OUTSIDE}:80`]);
  });

  it('run no command of another tenant through the agent-sandbox API', async () => {
    await using other = await openSandbox(await readAccess('E2B_API_KEY_2'));
    const curl = `curl --silent --max-time 2 --data '{"command":"id"}' http://${address}:8888/execute`;
    expect((await other.commands.run(`${curl} || echo refused`)).stdout).toBe('refused\n');
  });
});

describe('a sandbox', () => {
  it('reaches the internet and the egress proxy, but not the cluster, its node or the cloud metadata', async () => {
    const node = await readNodeAddress();
    const proxy = await listProxyPlaces();
    const inside = [...(await listServices()), `${node}:16443`, `${node}:10250`, '169.254.169.254:80'];
    expect(inside.length).toBeGreaterThan(6);
    expect(inside).toEqual(expect.arrayContaining(proxy));
    const reached = await listReachable(mine, [...inside, `${OUTSIDE}:80`]);
    expect(reached).toEqual([...proxy, `${OUTSIDE}:80`].sort());
  });

  it('reaches the internet when a port with a lower hardware address joins the bridge of its node', async () => {
    await run('ip', ['link', 'add', 'sandlot-low', 'address', '02:00:00:00:00:01', 'type', 'veth']);
    try {
      await run('ip', ['link', 'set', 'sandlot-low', 'master', 'sandlot0', 'up']);
      expect(await canReachOutside(mine)).toBe(true);
    } finally {
      await run('ip', ['link', 'delete', 'sandlot-low']);
    }
  });

  it('has no IPv6 address that would bypass the rules', async () => {
    const { stdout } = await mine.commands.run('cat /proc/net/if_inet6 | grep -v " lo$" || true');
    expect(stdout).toBe('');
  });
});

describe('egress rules of a single sandbox', () => {
  it('without internet access reach nothing, which getInfo shows', async () => {
    await using closed = await openSandbox({ allowInternetAccess: false });
    expect(await canReachOutside(closed)).toBe(false);
    expect(await closed.getInfo()).toMatchObject({ allowInternetAccess: false });
    expect((await closed.commands.run('echo inside')).stdout).toBe('inside\n');
    expect(await canReachOutside(mine)).toBe(true);
  });

  it('with allowOut and denyOut apply within what the template allows', async () => {
    const allowOut = [OUTSIDE, '10.0.0.0/8', '169.254.169.254'];
    await using narrow = await openSandbox({ network: { allowOut, denyOut: ['0.0.0.0/0'] } });
    const tried = [`${OUTSIDE}:80`, '10.96.0.1:443', `${address}:${PORT}`];
    expect(await listReachable(narrow, tried)).toEqual([`${OUTSIDE}:80`]);
    await using denied = await openSandbox({ network: { denyOut: ['192.175.48.0/24'] } });
    expect(await canReachOutside(denied)).toBe(false);
  });

  it('can be replaced at run time, and stay after a pause', async () => {
    await using sandbox = await openSandbox();
    await sandbox.updateNetwork({ allowInternetAccess: false });
    await expect.poll(() => canReachOutside(sandbox), SOON).toBe(false);
    await sandbox.updateNetwork({ denyOut: ['8.8.8.8'] });
    await expect.poll(() => canReachOutside(sandbox), SOON).toBe(true);
    await sandbox.updateNetwork({ denyOut: [`${OUTSIDE}/32`] });
    await expect.poll(() => canReachOutside(sandbox), SOON).toBe(false);
    await sandbox.pause();
    const resumed = await Sandbox.connect(sandbox.sandboxId, await readAccess());
    expect(await canReachOutside(resumed)).toBe(false);
    await resumed.updateNetwork({});
    await expect.poll(() => canReachOutside(resumed), SOON).toBe(true);
    expect(await listReachable(resumed, [`${address}:${PORT}`, '10.96.0.1:443'])).toEqual([]);
  });

  it('apply to sandboxes that start cold', async () => {
    const many = await Promise.all(Array.from({ length: 4 }, () => openSandbox({ allowInternetAccess: false })));
    try {
      expect(await Promise.all(many.map(canReachOutside))).toEqual(many.map(() => false));
    } finally {
      await Promise.all(many.map((sandbox) => sandbox[Symbol.asyncDispose]()));
    }
  });

  it('are deleted with the sandbox', async () => {
    const closed = await openSandbox({ allowInternetAccess: false });
    const policies = async (): Promise<string> =>
      runKubectlOrFail(['get', 'networkpolicies', '-n', 'tenant-a', '-o', 'name']);
    expect(await policies()).toContain(`${closed.sandboxId}-network`);
    await closed.kill();
    await expect.poll(policies, SOON).not.toContain(`${closed.sandboxId}-network`);
  });
});
