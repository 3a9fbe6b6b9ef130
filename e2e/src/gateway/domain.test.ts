import { once } from 'node:events';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { Sandbox as OlderSandbox } from 'e2b-v1';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTlsGateway, proxyTo, trust } from '../support/tls-gateway.ts';
import type { TlsGateway } from '../support/tls-gateway.ts';
import { eventually } from '../support/team.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { callTool, connectMcp } from '../support/mcp/client.ts';
import { PORTS, startServers } from '../support/sdk/servers.ts';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';

/** Clients that know only a domain: the API and each port of a sandbox have their own host names, over TLS. */
const stack = new AsyncDisposableStack();
let tlsGateway: TlsGateway;
let options: { readonly apiKey: string; readonly domain: string };
beforeAll(async () => {
  const { apiKey, domain } = await readAccess();
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  tlsGateway = stack.use(await startTlsGateway(client, domain));
  trust(tlsGateway, domain);
  options = { apiKey, domain };
});
afterAll(() => stack.disposeAsync());

describe('the e2b client with a domain', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await Sandbox.create('base', { ...options, timeoutMs: LIFETIME_MS });
  });
  afterAll(() => sandbox.kill());

  it('creates, lists and connects to sandboxes, runs commands and writes files', async () => {
    await sandbox.files.write('note.txt', 'by name');
    const other = await Sandbox.connect(sandbox.sandboxId, options);
    expect((await other.commands.run('cat note.txt')).stdout).toBe('by name');
    const listed = await Sandbox.list({ ...options, query: { state: ['running'] } }).nextItems();
    expect(listed.map(({ sandboxId }) => sandboxId)).toContain(sandbox.sandboxId);
  });

  it('reaches ports by the host of getHost over HTTP and WebSockets', async () => {
    expect(sandbox.getHost(PORTS.echo)).toBe(`${PORTS.echo}-${sandbox.sandboxId}.${options.domain}`);
    await startServers(sandbox);
    for (const port of [PORTS.echo, PORTS.loopback]) {
      const answer = await fetch(`https://${sandbox.getHost(port)}/a%2Fb`, { method: 'PUT', body: 'body' });
      expect(await answer.json()).toMatchObject({ path: '/a%2Fb', body: 'body', host: sandbox.getHost(port) });
    }
    expect((await fetch(`https://${sandbox.getHost(8099)}`)).status).toBe(502);
    const socket = new WebSocket(`wss://${sandbox.getHost(PORTS.sockets)}`);
    await once(socket, 'open');
    socket.send('hello');
    const [{ data }] = (await once(socket, 'message')) as [{ readonly data: unknown }];
    expect(data).toBe('hello');
    socket.close();
  });

  it('calls tools of MCP servers at the URL of getMcpUrl', async () => {
    const mcp = { filesystem: { paths: ['/home/user'] }, time: {} };
    const served = await Sandbox.create({ ...options, timeoutMs: LIFETIME_MS, requestTimeoutMs: 180_000, mcp });
    const headers = { Authorization: `Bearer ${(await served.getMcpToken()) ?? ''}` };
    await using client = await connectMcp({ url: served.getMcpUrl(), headers });
    expect(await callTool(client, 'list_allowed_directories')).toContain('/home/user');
    expect(await callTool(client, 'get_current_time', { timezone: 'UTC' })).toContain('UTC');
    await served.kill();
  });

  it('returns signed URLs that read and write a file until they expire', async () => {
    await sandbox.files.write('signed.txt', 'signed');
    const download = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 });
    expect(await (await fetch(download)).text()).toBe('signed');
    expect((await fetch(download.replace('signed.txt', 'other.txt'))).status).toBe(401);
    expect((await fetch(await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -5 }))).status).toBe(401);
    const body = new FormData();
    body.append('file', new Blob(['uploaded']), 'up.txt');
    const upload = await sandbox.uploadUrl('up.txt', { useSignatureExpiration: 60 });
    expect((await fetch(upload, { method: 'POST', body })).status).toBe(200);
    expect(await sandbox.files.read('up.txt')).toBe('uploaded');
    expect((await fetch(download, { method: 'POST', body })).status).toBe(401);
  });
});

/** This version supports domain mode only. */
describe('the previous major version of the e2b client', () => {
  let sandbox: OlderSandbox;
  beforeAll(async () => {
    sandbox = await OlderSandbox.create('base', {
      ...options,
      timeoutMs: LIFETIME_MS,
      metadata: { client: 'older' },
      envs: { ONE: '1' },
    });
  });
  afterAll(() => sandbox.kill());

  it('runs commands in the foreground and background, with output as it comes', async () => {
    const seen: string[] = [];
    const { stdout } = await sandbox.commands.run('whoami; echo $ONE', { onStdout: (text) => void seen.push(text) });
    expect([stdout, seen.join('')]).toEqual(['user\n1\n', 'user\n1\n']);
    await expect(sandbox.commands.run('exit 3')).rejects.toMatchObject({ exitCode: 3 });
    const handle = await sandbox.commands.run('read x; echo got $x', { background: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(handle.pid);
    await sandbox.commands.sendStdin(handle.pid, 'it\n');
    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'got it\n' });
  });

  it('writes, reads and watches files', async () => {
    const { files } = sandbox;
    await files.makeDir('older');
    const names: string[] = [];
    const watch = await files.watchDir('older', ({ name }) => void names.push(name));
    await files.write('older/a.txt', 'text');
    expect(await files.read('older/a.txt')).toBe('text');
    expect((await files.list('older')).map(({ name }) => name)).toEqual(['a.txt']);
    await eventually('the watch reports the file', async () => (names.includes('a.txt') ? true : undefined));
    await watch.stop();
    await files.remove('older/a.txt');
    expect(await files.exists('older/a.txt')).toBe(false);
  });

  it('connects, lists, reads and extends a sandbox', async () => {
    const other = await OlderSandbox.connect(sandbox.sandboxId, options);
    expect((await other.commands.run('echo there')).stdout).toBe('there\n');
    expect(await sandbox.isRunning()).toBe(true);
    await sandbox.setTimeout(3_600_000);
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, templateId: 'base', metadata: { client: 'older' } });
    expect(info.endAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000);
    const listed = await OlderSandbox.list({ ...options, query: { metadata: { client: 'older' } } });
    expect(listed.map(({ sandboxId }) => sandboxId)).toContain(sandbox.sandboxId);
  });

  it('kills a sandbox once', async () => {
    const gone = await OlderSandbox.create('base', { ...options, timeoutMs: LIFETIME_MS });
    expect(await OlderSandbox.kill(gone.sandboxId, options)).toBe(true);
    expect(await OlderSandbox.kill(gone.sandboxId, options)).toBe(false);
    await expect(OlderSandbox.getInfo(gone.sandboxId, options)).rejects.toThrow('404');
  });
});

/** A proxy replaces DNS for the Python clients. They still verify the certificate. */
const byName = async (): Promise<Readonly<Record<string, string>>> => ({
  E2B_API_URL: '',
  E2B_SANDBOX_URL: '',
  SSL_CERT_FILE: tlsGateway.caFile,
  PROXY: stack.use(await proxyTo(tlsGateway)).url,
});

describe('the e2b client for Python with a domain', () => registerPythonTests('by_name', byName));
describe('the previous major version of the e2b client for Python', () =>
  registerPythonTests('by_name_before', byName, 'requirements-before.txt'));
