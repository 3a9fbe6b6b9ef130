import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { listReachable, readServiceAddress } from '../support/sdk/reach.ts';

const run = promisify(execFile);

/** Addresses that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.81';
const ALLOWED = 'api.egress.example';
const OTHER = 'other.egress.example';
/** An allowed name that leads into the cluster. */
const INSIDE = 'inside.egress.example';
const LISTED = ['*.files.egress.example', ALLOWED, INSIDE];
const CLOSED = { network: { denyOut: ['0.0.0.0/0'], allowOut: LISTED } };
/** For changes that controllers make asynchronously. */
const SOON = { timeout: 30_000, interval: 100 };
/** curl's exit codes. */
const NO_SUCH_NAME = 6;
const NO_TLS = 35;

const stack = new AsyncDisposableStack();
let upstream: Upstream;
let closed: Sandbox;

beforeAll(async () => {
  upstream = stack.use(
    await openUpstream({
      address: OUTSIDE,
      names: [ALLOWED, OTHER, 'git.files.egress.example', 'pip.files.egress.example'],
      hosts: [`10.96.0.1 ${INSIDE}`],
    }),
  );
  closed = stack.use(await openSandbox(CLOSED));
  await closed.files.write('/tmp/ca.crt', upstream.ca);
});
afterAll(() => stack.disposeAsync());

interface Answer {
  readonly exitCode: number;
  readonly text: string;
}

/** Runs a command in the sandbox, also one that fails. */
async function tryIn(sandbox: Sandbox, command: string): Promise<Answer> {
  const { stdout } = await sandbox.commands.run(`{ ${command}; } 2>&1; echo "exit $?"`, { timeoutMs: 60_000 });
  const [, text = '', code = ''] = /^([\s\S]*)exit (\d+)\n$/.exec(stdout) ?? [];
  return { exitCode: Number(code), text };
}

const curl = (...args: readonly string[]): string =>
  `curl --silent --max-time 5 --cacert /tmp/ca.crt ${args.join(' ')}`;
const readProxy = (): Promise<string> => readServiceAddress('sandlot-egress');

describe('a sandbox that is closed but for names', () => {
  it.each(['http', 'https'])(
    'reaches a name of its list over %s, and TLS is that of the server itself',
    async (scheme) => {
      const { text, exitCode } = await tryIn(closed, curl(`--data hello ${scheme}://${ALLOWED}/echo`));
      expect([exitCode, text]).toEqual([0, JSON.stringify({ host: ALLOWED, method: 'POST', bytes: 5 })]);
    },
  );

  it('finds no name that the list does not have', async () => {
    for (const name of [
      OTHER,
      'files.egress.example',
      'sandlot-api.sandlot-system.svc.cluster.local',
      'egress.example',
    ]) {
      expect([name, (await tryIn(closed, curl(`http://${name}/echo`))).exitCode]).toEqual([name, NO_SUCH_NAME]);
    }
  });

  it('reaches no address, not even that of an allowed name', async () => {
    expect(await listReachable(closed, [`${OUTSIDE}:80`, `${OUTSIDE}:443`, '1.1.1.1:53', '8.8.8.8:53'])).toEqual([]);
    const asked = 'python3 -c "import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)';
    const packet = "s.sendto(b'x', ('192.175.48.81', 443)); s.recv(9)\"";
    expect((await tryIn(closed, `${asked}; ${packet}`)).exitCode).toBe(1);
  });

  it('cannot lead the proxy to another host by the name in TLS, or by the Host of plain HTTP', async () => {
    const proxy = await readProxy();
    const forged = await tryIn(closed, curl(`--resolve ${OTHER}:443:${proxy} https://${OTHER}/echo`));
    expect(forged.exitCode).toBe(NO_TLS);
    const host = await tryIn(closed, curl(`--header "Host: ${OTHER}" http://${ALLOWED}/echo`));
    expect(host.text).toContain('egress_denied');
    const bare = await tryIn(closed, curl(`--insecure https://${proxy}/echo`));
    expect(bare.exitCode).toBe(NO_TLS);
  });

  it('cannot reach the cluster by an allowed name that leads into it', async () => {
    expect((await tryIn(closed, curl(`--insecure https://${INSIDE}/version`))).exitCode).toBe(NO_TLS);
  });

  it('cannot ask for other ports, or for other hosts, by CONNECT', async () => {
    const proxy = await readProxy();
    const through = curl(`--proxy http://${proxy}:3128 --proxytunnel`);
    expect((await tryIn(closed, `${through} https://${ALLOWED}/echo`)).text).toContain(ALLOWED);
    expect((await tryIn(closed, `${through} http://${ALLOWED}:22/`)).exitCode).not.toBe(0);
    expect((await tryIn(closed, `${through} https://${OTHER}/echo`)).exitCode).not.toBe(0);
  });

  it('sends no raw packets', async () => {
    const raw = 'sudo python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)"';
    expect((await tryIn(closed, raw)).text).toContain('Operation not permitted');
  });

  it('is used by git and pip as they are', async () => {
    const folder = join(upstream.files, 'tool');
    await run('mkdir', ['-p', folder]);
    const git = (...args: readonly string[]) =>
      run('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args]);
    await git('init', '--quiet', '--initial-branch=main');
    await git('commit', '--quiet', '--allow-empty', '-m', 'first');
    await run('git', ['clone', '--quiet', '--bare', folder, join(upstream.files, 'tool.git')]);
    await run('git', ['-C', join(upstream.files, 'tool.git'), 'update-server-info']);
    const clone = 'GIT_SSL_CAINFO=/tmp/ca.crt git clone --quiet https://git.files.egress.example/tool.git /tmp/tool';
    expect((await tryIn(closed, `${clone} && git -C /tmp/tool log --format=%s`)).text).toBe('first\n');
    const index =
      'pip download --cert /tmp/ca.crt --no-deps --index-url https://pip.files.egress.example/simple nothing-here';
    expect((await tryIn(closed, index)).text).toContain('No matching distribution found');
  });
});

describe('a change of the list', () => {
  it('ends what is open and no longer on it, and lets in what is new', async () => {
    await using sandbox = await openSandbox(CLOSED);
    const stream = await sandbox.commands.run(`curl --silent --no-buffer http://${ALLOWED}/stream`, {
      background: true,
    });
    await expect.poll(() => upstream.streams.size, SOON).toBe(1);
    await sandbox.updateNetwork({ denyOut: ['0.0.0.0/0'], allowOut: [OTHER] });
    await expect.poll(() => upstream.streams.size, SOON).toBe(0);
    await expect(stream.wait()).rejects.toThrow();
    await expect
      .poll(async () => (await tryIn(sandbox, `curl --silent http://${OTHER}/echo`)).text, SOON)
      .toContain(OTHER);
    expect((await tryIn(sandbox, `curl --silent http://${ALLOWED}/echo`)).exitCode).toBe(NO_SUCH_NAME);
    await sandbox.updateNetwork({});
    await expect.poll(() => listReachable(sandbox, [`${OUTSIDE}:80`]), SOON).toEqual([`${OUTSIDE}:80`]);
  });

  it('does not concern the sandboxes of another tenant', async () => {
    await using other = await openSandbox(await readAccess('E2B_API_KEY_2'));
    expect((await tryIn(other, `curl --silent http://${OTHER}/echo`)).text).toContain(OTHER);
    expect((await tryIn(other, `curl --silent http://${INSIDE}/`)).exitCode).not.toBe(0);
  });
});

describe('the API', () => {
  it('refuses names beside an open network, and denied names', async () => {
    await expect(openSandbox({ network: { allowOut: [ALLOWED] } })).rejects.toThrow(/denyOut to contain 0\.0\.0\.0\/0/);
    await expect(openSandbox({ network: { denyOut: [ALLOWED] } })).rejects.toThrow(/names can only be allowed/);
  });

  it('shows the list', async () => {
    expect(await closed.getInfo()).toMatchObject({ network: { allowOut: [...LISTED].sort(), denyOut: ['0.0.0.0/0'] } });
  });
});
