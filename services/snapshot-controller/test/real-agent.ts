import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ensureBinaries, findFreePort } from '@sandlot/local-cluster';
import { systemClock } from '@sandlot/std';
import { AgentClient } from '../src/agent/agent-client.ts';
import { agentIdentity, controllerIdentity } from './certificates.ts';
import { writeTlsDir } from './harness.ts';

export const ID = { namespace: 'team-a', uid: '7c9e6679-7425-40de-944b-e07fc1f90ae7' };
export const POD = { podName: 'notebook', podUID: '0f8fad5b-d9cb-469f-a165-70867728950e' };
export const source = { ...POD, sandboxName: 'notebook', sandboxUID: '11111111-7425-40de-944b-e07fc1f90ae7' };
const CONTENT = 'saved';
const never = new AbortController().signal;

export interface RealAgentOptions {
  readonly node?: string;
  /** More flags, by their name. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The agent that the nodes run, as a process. */
export class RealAgent implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #port: number;
  readonly #folders: string[];

  private constructor(process: ChildProcess, port: number, folders: string[]) {
    this.#process = process;
    this.#port = port;
    this.#folders = folders;
  }

  static async start({ node = 'node-1', flags = {}, env = {} }: RealAgentOptions = {}): Promise<RealAgent> {
    const bin = await ensureBinaries(['sandlot-node', 'runsc']);
    const [folder, tlsDir] = [await mkdtemp(join(tmpdir(), 'sandlot-agent-')), await writeTlsDir(agentIdentity)];
    const port = await findFreePort();
    const all = {
      node,
      root: join(folder, 'snapshots'),
      state: join(folder, 'state'),
      runsc: bin('runsc'),
      'runsc-root': join(folder, 'runsc'),
      socket: join(folder, 'node.sock'),
      listen: `127.0.0.1:${port}`,
      metrics: '127.0.0.1:0',
      'tls-dir': tlsDir,
      ...flags,
    };
    const args = Object.entries(all).map(([name, value]) => `-${name}=${value}`);
    const process = spawn(bin('sandlot-node'), args, { stdio: ['ignore', 'ignore', 'pipe'], env });
    await waitUntilServing(process);
    return new RealAgent(process, port, [folder, tlsDir]);
  }

  async connect(identity: typeof controllerIdentity = controllerIdentity): Promise<AgentClient> {
    const tlsDir = await writeTlsDir(identity);
    this.#folders.push(tlsDir);
    return new AgentClient({ clock: systemClock, host: '127.0.0.1', port: this.#port, tlsDir });
  }

  /** Puts a finished snapshot of five bytes on the disk of the agent. */
  async store(uid: string, mode: 'Hibernate' | 'Snapshot'): Promise<void> {
    const { fingerprint } = await (await this.connect()).describeNode(never);
    const machine = { ...fingerprint, ociVersion: '1', cpuFeatures: [] };
    const { sandboxUID: sandboxUid, podUID: podUid, ...named } = source;
    const about = {
      version: 1,
      namespace: ID.namespace,
      snapshotUid: uid,
      source: { ...named, sandboxUid, podUid },
      mode,
    };
    const files = [{ name: 'checkpoint.img', bytes: CONTENT.length, checksum: sumOneChunk(CONTENT) }];
    const size = { containers: ['main'], files, bytes: CONTENT.length, savedAt: '2026-01-01T12:00:00Z' };
    const folder = join(this.#folders[0] ?? '', 'snapshots', ID.namespace, uid);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, 'checkpoint.img'), CONTENT);
    await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...about, machine, ...size }));
  }

  /** What the agent has written down about the restore of a Pod. */
  async readGrant(podUID: string): Promise<unknown> {
    return JSON.parse(await readFile(join(this.#folders[0] ?? '', 'state', 'restores', `${podUID}.json`), 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    this.#process.kill('SIGKILL');
    if (exitCode === null && signalCode === null) await once(this.#process, 'exit');
    for (const folder of this.#folders) await rm(folder, { recursive: true, force: true });
  }
}

/** The checksum of a file that has one chunk. */
function sumOneChunk(content: string): string {
  const chunk = createHash('sha256').update(content).digest();
  return `sha256-8mib:${createHash('sha256').update(chunk).digest('hex')}`;
}

/** Resolves when the agent logs that it serves, and passes everything on that it logs. */
async function waitUntilServing({ stderr }: ChildProcess): Promise<void> {
  if (stderr === null) throw new Error('the agent has no log');
  stderr.pipe(process.stderr);
  for await (const line of createInterface({ input: stderr })) if (line.includes('the agent serves')) return;
  throw new Error('the agent ended before it served');
}
