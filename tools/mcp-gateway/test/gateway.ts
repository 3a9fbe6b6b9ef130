// Starts the program as a sandbox would, and clients for it.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { findFreePort } from '@sandlot/local-cluster';

export const TOKEN = '0a5bfc1e-8f0c-4f3b-8d4b-0d9c6a1f2e77';

export interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

/** A folder and a port for the gateways of one test. Disposing of it ends them. */
export class Place {
  readonly root: string;
  readonly port: number;

  private constructor(root: string, port: number) {
    this.root = root;
    this.port = port;
  }

  static async make(): Promise<Place> {
    return new Place(await mkdtemp(join(tmpdir(), 'mcp-gateway-')), await findFreePort());
  }

  get url(): string {
    return `http://localhost:${this.port}/mcp`;
  }

  async run(argv: readonly string[], env: NodeJS.ProcessEnv = { GATEWAY_ACCESS_TOKEN: TOKEN }): Promise<Ended> {
    const program = join(import.meta.dirname, 'program.ts');
    const child = spawn(process.execPath, [program, this.root, String(this.port), ...argv], {
      env: { PATH: process.env['PATH'], ...env },
    });
    const { promise, resolve } = Promise.withResolvers<number | null>();
    child.once('exit', resolve);
    const [code, stderr] = await Promise.all([promise, text(child.stderr)]);
    return { code, stderr: stderr.trim() };
  }

  start(config: object): Promise<Ended> {
    return this.run(['--config', JSON.stringify(config)]);
  }

  async connect(token = TOKEN): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(this.url), { requestInit }));
    return client;
  }

  post(body: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const given = { Authorization: `Bearer ${TOKEN}`, Accept: 'application/json, text/event-stream', ...headers };
    return fetch(this.url, { method: 'POST', body, headers: { ...given, 'Content-Type': 'application/json' } });
  }

  /** Processes that name this place in their arguments: the loop, the gateway, or both. */
  async processes(kind: 'loop' | 'gateway'): Promise<readonly number[]> {
    const wanted = kind === 'loop' ? '/bin/sh' : process.execPath;
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const found = await Promise.all(
      pids.map(async (pid) => {
        const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
        return line.startsWith(wanted) && line.includes(`\0${this.root}\0`) ? [Number(pid)] : [];
      }),
    );
    return found.flat();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const kind of ['loop', 'gateway'] as const) {
      for (const pid of await this.processes(kind)) process.kill(pid, 'SIGKILL');
    }
    await rm(this.root, { recursive: true, force: true });
  }
}

/** The text of a result. */
export function readText(result: unknown): string {
  const { content } = result as { readonly content: readonly { readonly text: string }[] };
  return content.map((part) => part.text).join('');
}
