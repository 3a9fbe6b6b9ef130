import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { Sandbox } from 'e2b';
import type { SandboxOpts } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressMcp, callTool, connectMcp } from '../support/mcp/client.ts';
import { LIFETIME_MS, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { ask } from '../support/sdk/http.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { eventually } from '../support/team.ts';

/** How long a client waits for a sandbox of an image that the node may have to pull first. */
const COLD_MS = 180_000;
const HOME = '/home/user';
const all = {
  fetch: {},
  filesystem: { paths: [HOME] },
  git: { paths: [HOME] },
  memory: {},
  sequentialthinking: {},
  time: {},
};

let access: Access;
let sandbox: Sandbox;
let token: string;
let client: Client;
const create = (mcp: unknown, options: SandboxOpts = {}): Promise<Sandbox> =>
  // What is not in the client's catalogue of servers has to be refused by the gateway.
  Sandbox.create({
    ...access,
    timeoutMs: LIFETIME_MS,
    requestTimeoutMs: COLD_MS,
    ...options,
    mcp: mcp as NonNullable<SandboxOpts['mcp']>,
  });
const connect = async (given = token): Promise<Client> => connectMcp(await addressMcp(sandbox.sandboxId, given));

beforeAll(async () => {
  access = await readAccess();
  sandbox = await create(all);
  token = (await sandbox.getMcpToken()) ?? '';
  client = await connect();
});
afterAll(async () => {
  await client.close();
  await sandbox.kill();
});

describe('a sandbox of the e2b client with mcp', () => {
  it('offers the tools of every server of the image', async () => {
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const some = ['fetch', 'write_file', 'git_log', 'create_entities', 'sequentialthinking', 'get_current_time'];
    expect(names).toEqual(expect.arrayContaining(some));
  });

  it('runs tools of several servers, as the user of the sandbox', async () => {
    await callTool(client, 'write_file', { path: `${HOME}/note.txt`, content: 'by a tool' });
    expect(await sandbox.files.read('note.txt')).toBe('by a tool');
    expect((await sandbox.files.getInfo('note.txt')).owner).toBe('user');
    expect(await callTool(client, 'get_current_time', { timezone: 'Asia/Tokyo' })).toContain('Asia/Tokyo');
    await sandbox.commands.run('git init -q . && git add note.txt');
    expect(await callTool(client, 'git_status', { repo_path: HOME })).toContain('note.txt');
    await expect(callTool(client, 'git_status', { repo_path: '/root' })).rejects.toThrow(`not within ${HOME}`);
    const thought = { thought: 'first', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    expect(await callTool(client, 'sequentialthinking', thought)).toContain('thoughtNumber');
    const read = callTool(client, 'read_text_file', { path: '/etc/mcp-gateway/.token' });
    await expect(read).rejects.toThrow(/outside allowed directories/);
    await expect(callTool(client, 'fetch', { url: 'http://127.0.0.1:50005/mcp' })).rejects.toThrow();
  });

  it('has a token of its own, which a client that connects later reads from the sandbox', async () => {
    const later = await Sandbox.connect(sandbox.sandboxId, access);
    expect(await later.getMcpToken()).toBe(token);
    expect(later.getMcpUrl()).toBe(`https://50005-${sandbox.sandboxId}.${access.domain}/mcp`);
    const read = await sandbox.commands.run('cat /etc/mcp-gateway/.token 2>&1 || true', { user: 'user' });
    expect(read.stdout).toMatch(/Permission denied/);
    await expect(connect('2f7c6f0e-0000-4000-8000-000000000000')).rejects.toThrow(/token of this gateway/);
  });

  it('answers at the host of getMcpUrl, with the token only', async () => {
    const host = sandbox.getHost(50_005);
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const headers = { Accept: 'application/json, text/event-stream', 'Content-Type': 'application/json' };
    const request = { method: 'POST', path: '/mcp', body };
    expect((await ask(host, { ...request, headers })).statusCode).toBe(401);
    const authorised = { ...headers, Authorization: `Bearer ${token}` };
    expect((await ask(host, { ...request, headers: authorised })).statusCode).toBe(200);
    const page = { ...authorised, Origin: 'https://page.example.com' };
    expect((await ask(host, { ...request, headers: page })).statusCode).toBe(403);
  });

  it('starts again when it or a server is killed', async () => {
    // The first is not the shell that starts it again, which has the same words further behind.
    for (const program of ['^/usr/local/bin/node /opt/mcp-gateway/gateway.mjs serve', '[m]cp_server_time']) {
      await sandbox.commands.run(`pkill -9 -f '${program}'`, { user: 'root' });
      await eventually('the server answers', async () => {
        expect(await callTool(client, 'get_current_time', { timezone: 'UTC' })).toContain('UTC');
        return true;
      });
    }
  });

  it('goes on after a pause, with and without the memory', async () => {
    await callTool(client, 'create_entities', {
      entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }],
    });
    for (const keepMemory of [true, false]) {
      await sandbox.pause({ keepMemory });
      sandbox = await sandbox.connect();
      await eventually('the graph is there', async () => {
        expect(await callTool(client, 'search_nodes', { query: 'Ada' })).toContain('writes programs');
        return true;
      });
    }
  });

  it('has what a template pulls, or says that it has not', async () => {
    const pull = (names: string) => sandbox.commands.run(`mcp-gateway pull ${names}`, { user: 'root' });
    expect((await pull('time git')).stdout).toContain("server 'git' is in the image");
    await expect(pull('time postgres')).rejects.toMatchObject({
      exitCode: 1,
      stderr: "server 'postgres' is not available in this installation\n",
    });
  });
});

describe('mcp that cannot be served', () => {
  it.each([
    [
      'a server that the image lacks',
      { time: {}, postgres: {} },
      "server 'postgres' is not available in this installation",
    ],
    ['code of a repository', { 'github/acme/x': { runCmd: 'sh' } }, "server 'github/acme/x' is not available"],
    ['a setting that is none', { time: { image: 'x' } }, "server 'time': 'time.image': there is no such setting"],
    ['a folder that is not there', { filesystem: { paths: ['/$(id)`id`"\'/x'] } }, "server 'filesystem' did not start"],
  ])('kills the sandbox and says why: %s', async (run, mcp, message) => {
    const metadata = { run: `mcp ${run} ${process.pid}` };
    await expect(create(mcp, { metadata })).rejects.toThrow(`Failed to start MCP gateway: ${message}`);
    const page = Sandbox.list({ ...access, query: { metadata } });
    expect((await page.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([]);
  });

  it('is refused where the template is not', async () => {
    const other = await readAccess('E2B_API_KEY_2');
    await expect(create({ time: {} }, other)).rejects.toThrow("404: template 'mcp-gateway' not found");
  });
});

describe('mcp of the e2b client for Python', () => registerPythonTests('mcp_gateway'));
