import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { NODE, NPM, PACKAGES, publishClientImage } from '../support/images/egress-clients.ts';
import { openGrpcServer } from '../support/egress/grpc-server.ts';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { offerLikeBase } from '../support/sdk/base-template.ts';
import type { PodSpec } from '../support/sdk/base-template.ts';
import { LIFETIME_MS, readAccess } from '../support/sdk/client.ts';

const run = promisify(execFile);

/** Addresses that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.83';
const OUTSIDE_GRPC = '192.175.48.90';
const INSPECTED = 'inspected.clients.example';
const GRPC = 'grpc.clients.example';
const TEMPLATE = 'egress-clients';
const ROOM = { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '1Gi' } };
const MARK = 'x-mark';
const RULES = [INSPECTED, GRPC].map((host) => ({ host, headers: [{ name: MARK, value: 'by the proxy' }] }));
const LARGE_MIB = 64;

const stack = new AsyncDisposableStack();
let upstream: Upstream;
let sandbox: Sandbox;

beforeAll(async () => {
  const client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [INSPECTED] }));
  stack.use(await openGrpcServer({ address: OUTSIDE_GRPC, name: GRPC, header: MARK }));
  const image = await publishClientImage();
  const withClients = ({ containers, ...pod }: PodSpec): PodSpec => ({
    ...pod,
    containers: containers.map((container) => ({ ...container, image, resources: ROOM })),
  });
  stack.use(await offerLikeBase(client, TEMPLATE, withClients));
  sandbox = await Sandbox.create(TEMPLATE, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
  stack.defer(async () => {
    await sandbox.kill();
  });
  const network = JSON.stringify({ rules: RULES });
  await client.mergePatch(
    sandboxClaims,
    { namespace: 'tenant-a', name: sandbox.sandboxId },
    { metadata: { annotations: { [annotations.network]: network } } },
  );
  const ask = `curl --silent https://${INSPECTED}/headers`;
  await vi.waitFor(async () => expect(await runIn(ask)).toContain('by the proxy'), { timeout: 30_000, interval: 100 });
});
afterAll(() => stack.disposeAsync());

/** Runs a command in the sandbox. Throws when it fails. */
async function runIn(command: string): Promise<string> {
  const { stdout } = await sandbox.commands.run(`{ ${command}; } 2>&1`, { timeoutMs: 120_000 });
  return stdout.trim();
}

const python = (program: string): Promise<string> => runIn(`PYTHONPATH=${PACKAGES} python3 -c "${program}"`);
const node = (program: string): Promise<string> => runIn(`${NODE} --eval ${JSON.stringify(program)}`);

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

  it.each([
    ['requests', `import requests as r; print(r.get('https://${INSPECTED}/headers').json()['${MARK}'])`],
    ['httpx', `import httpx as r; print(r.get('https://${INSPECTED}/headers').json()['${MARK}'])`],
    [
      'httpx with HTTP/2',
      `import httpx as r; a = r.Client(http2=True).get('https://${INSPECTED}/headers'); print(a.json()['${MARK}'] if a.http_version == 'HTTP/2' else a.http_version)`,
    ],
  ])('%s of Python', async (_name, program) => {
    expect(await python(program)).toBe('by the proxy');
  });

  it('Java, with the store of its own', async () => {
    const program = `import jpype, jpype.imports; jpype.startJVM('/opt/java/openjdk/lib/server/libjvm.so', '--enable-native-access=ALL-UNNAMED'); from java.net import URI; from java.net.http import HttpClient, HttpRequest, HttpResponse; request = HttpRequest.newBuilder(URI.create('https://${INSPECTED}/headers')).build(); print(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body())`;
    expect(JSON.parse(await python(program))).toMatchObject({ [MARK]: 'by the proxy' });
  });

  it('a program in Go', async () => {
    await mkdir(join(upstream.files, 'v2'));
    await writeFile(join(upstream.files, 'v2', 'index.html'), '');
    await writeFile(join(upstream.files, 'v2', '_catalog'), JSON.stringify({ repositories: ['served'] }));
    expect(await runIn(`crane catalog ${INSPECTED}`)).toBe('served');
  });

  it('gRPC, one message and a stream of them', async () => {
    const call = (kind: string, argument: string): string =>
      `import grpc; as_is = lambda b: b; c = grpc.secure_channel('${GRPC}:443', grpc.ssl_channel_credentials()); f = c.${kind}('/test.Echo/Call', request_serializer=as_is, response_deserializer=as_is); ${argument}`;
    expect(await python(call('unary_unary', "print(f(b'one').decode())"))).toBe('by the proxy');
    const three = "print([m.decode() for m in f(iter([b'one', b'two', b'three']))])";
    expect(await python(call('stream_stream', three))).toBe("['by the proxy', 'by the proxy', 'by the proxy']");
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
    const flags = `--registry=https://${INSPECTED}/npm/ --prefix=/tmp/project --no-audit --no-fund --loglevel=error`;
    await runIn(`mkdir -p /tmp/project && PATH=${dirname(NODE)}:$PATH ${NODE} ${NPM} install ${flags} tiny`);
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
