import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtempDisposable, readFile, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { openSandbox } from '../support/sdk/client.ts';

const run = promisify(execFile);

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.83';
const INSPECTED = 'inspected.clients.example';
const MARK = 'x-mark';
const RULES = [{ host: INSPECTED, headers: [{ name: MARK, value: 'by the proxy' }] }];
const LARGE_MIB = 64;

const stack = new AsyncDisposableStack();
let upstream: Upstream;
let sandbox: Sandbox;

beforeAll(async () => {
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [INSPECTED] }));
  sandbox = stack.use(await openSandbox());
  const network = JSON.stringify({ rules: RULES });
  await client.mergePatch(
    sandboxClaims,
    { namespace: 'tenant-a', name: sandbox.sandboxId },
    { metadata: { annotations: { [annotations.network]: network } } },
  );
  const ask = `curl --silent https://${INSPECTED}/headers`;
  await vi.waitFor(async () => expect(await runIn(ask)).toContain('by the proxy'), { timeout: 30_000, interval: 100 });
  await installNode();
});
afterAll(() => stack.disposeAsync());

/** Runs a command in the sandbox. Throws when it fails. */
async function runIn(command: string): Promise<string> {
  const { stdout } = await sandbox.commands.run(`{ ${command}; } 2>&1`, { timeoutMs: 120_000 });
  return stdout.trim();
}

/** Puts the Node of this process, with npm, into the sandbox. */
async function installNode(): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-node-'));
  const archive = join(folder.path, 'node.tar.gz');
  const { npm_execpath: npm } = process.env;
  if (npm === undefined) throw new Error('this test uses the npm that runs it: start it by npm or npx');
  const of = (path: string): readonly string[] => [`--directory=${dirname(path)}`, basename(path)];
  const parts = [...of(process.execPath), ...of(dirname(dirname(await realpath(npm))))];
  await run('tar', ['--create', '--gzip', `--file=${archive}`, ...parts]);
  const bytes = await readFile(archive);
  await sandbox.files.write('/tmp/node.tar.gz', new Blob([bytes]));
  await runIn('mkdir /tmp/node && tar --extract --gzip --file=/tmp/node.tar.gz --directory=/tmp/node');
}

const node = (program: string): Promise<string> => runIn(`/tmp/node/node --eval ${JSON.stringify(program)}`);

describe('a client, as it is, reaches a host whose TLS the proxy looks into', () => {
  it("Node's fetch and https", async () => {
    const url = `https://${INSPECTED}/headers`;
    expect(JSON.parse(await node(`fetch('${url}').then((r) => r.text()).then(console.log)`))).toMatchObject({
      [MARK]: 'by the proxy',
    });
    const https = `require('https').get('${url}', (r) => r.pipe(process.stdout))`;
    expect(JSON.parse(await node(https))).toMatchObject({ [MARK]: 'by the proxy' });
  });

  it('WebSocket', async () => {
    const program = `const s = new WebSocket('wss://${INSPECTED}/socket'); s.onmessage = (m) => { console.log(m.data); s.close(); }`;
    expect(await node(program)).toBe('by the proxy');
  });

  it('requests of Python', async () => {
    const program = `from pip._vendor import requests; print(requests.get('https://${INSPECTED}/headers').json()['${MARK}'])`;
    expect(await runIn(`python3 -c "${program}"`)).toBe('by the proxy');
  });

  it('git', async () => {
    const folder = join(upstream.files, 'tool');
    await mkdir(folder);
    const git = (...args: readonly string[]) =>
      run('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args]);
    await git('init', '--quiet', '--initial-branch=main');
    await git('commit', '--quiet', '--allow-empty', '-m', 'first');
    await run('git', ['clone', '--quiet', '--bare', folder, join(upstream.files, 'tool.git')]);
    await run('git', ['-C', join(upstream.files, 'tool.git'), 'update-server-info']);
    await runIn(`git clone --quiet https://${INSPECTED}/tool.git /tmp/tool`);
    expect(await runIn('git -C /tmp/tool log --format=%s')).toBe('first');
  });

  it('npm and pip', async () => {
    await publishPackage();
    const npm = '/tmp/node/node /tmp/node/npm/bin/npm-cli.js';
    const flags = `--registry=https://${INSPECTED}/npm/ --prefix=/tmp/project --no-audit --no-fund --loglevel=error`;
    await runIn(`mkdir -p /tmp/project && PATH=/tmp/node:$PATH ${npm} install ${flags} tiny`);
    expect(await node("console.log(require('/tmp/project/node_modules/tiny'))")).toBe('tiny');
    const pip = `pip download --no-deps --dest=/tmp --index-url=https://${INSPECTED}/simple nothing-here || true`;
    expect(await runIn(pip)).toContain('No matching distribution found');
  });
});

/** Puts a package into the files of the upstream, as a registry of npm serves it. */
async function publishPackage(): Promise<void> {
  const source = join(upstream.files, 'package');
  const served = join(upstream.files, 'npm');
  await mkdir(source);
  await mkdir(served);
  const about = { name: 'tiny', version: '1.0.0', main: 'index.js' };
  await writeFile(join(source, 'package.json'), JSON.stringify(about));
  await writeFile(join(source, 'index.js'), "module.exports = 'tiny';\n");
  const archive = join(served, 'tiny-1.0.0.tgz');
  await run('tar', ['--create', '--gzip', `--file=${archive}`, `--directory=${upstream.files}`, 'package']);
  const shasum = createHash('sha1')
    .update(await readFile(archive))
    .digest('hex');
  const dist = { tarball: `https://${INSPECTED}/npm/tiny-1.0.0.tgz`, shasum };
  const versions = { [about.version]: { ...about, dist } };
  await writeFile(
    join(served, 'tiny'),
    JSON.stringify({ name: about.name, 'dist-tags': { latest: about.version }, versions }),
  );
}

describe('over a host that is looked into', () => {
  it('an answer comes as it is written, before it has ended', async () => {
    const stream = await sandbox.commands.run(`curl --silent --no-buffer https://${INSPECTED}/stream`, {
      background: true,
    });
    await expect.poll(() => stream.stdout, { timeout: 30_000, interval: 50 }).toContain('begun');
    expect(upstream.streams.size).toBe(1);
    await stream.kill();
    await expect.poll(() => upstream.streams.size, { timeout: 30_000, interval: 50 }).toBe(0);
  });

  it('large files go down and up unchanged', async () => {
    await run('dd', ['if=/dev/urandom', `of=${join(upstream.files, 'large')}`, 'bs=1M', `count=${LARGE_MIB}`]);
    const sum = createHash('sha256')
      .update(await readFile(join(upstream.files, 'large')))
      .digest('hex');
    const got = await runIn(`curl --silent --output /tmp/large https://${INSPECTED}/large && sha256sum < /tmp/large`);
    expect(got).toContain(sum);
    const echo = await runIn(`curl --silent --data-binary @/tmp/large https://${INSPECTED}/echo`);
    expect(JSON.parse(echo)).toMatchObject({ method: 'POST', bytes: LARGE_MIB * 2 ** 20 });
  });
});
