// The client against the agent that the nodes run, which is a program in Go with a contract of its own.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ensureBinaries, findFreePort } from '@sandlot/local-cluster';
import { systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentIdentity, controllerIdentity, strangerIdentity } from '../../test/certificates.ts';
import { writeTlsDir } from '../../test/harness.ts';
import { AgentClient } from './agent-client.ts';

const ID = { namespace: 'team-a', uid: '7c9e6679-7425-40de-944b-e07fc1f90ae7' };
const POD = { podName: 'notebook', podUID: '0f8fad5b-d9cb-469f-a165-70867728950e' };
const source = { ...POD, sandboxName: 'notebook', sandboxUID: '11111111-7425-40de-944b-e07fc1f90ae7' };
const never = new AbortController().signal;

const folders: string[] = [];
let agent: ChildProcess;
let client: AgentClient;
let port: number;
let root: string;

async function makeClient(identity: typeof controllerIdentity): Promise<AgentClient> {
  const tlsDir = await writeTlsDir(identity);
  folders.push(tlsDir);
  return new AgentClient({ clock: systemClock, host: '127.0.0.1', port, tlsDir });
}

/** A finished snapshot on the disk of the agent, of five bytes. */
async function store(uid: string, mode: 'Hibernate' | 'Snapshot'): Promise<void> {
  const { fingerprint } = await client.describeNode(never);
  const machine = { ...fingerprint, ociVersion: '1', cpuFeatures: [] };
  const { sandboxUID: sandboxUid, podUID: podUid, ...named } = source;
  const saved = {
    version: 1,
    namespace: ID.namespace,
    snapshotUid: uid,
    source: { ...named, sandboxUid, podUid },
    mode,
  };
  const files = [{ name: 'checkpoint.img', bytes: 5, checksum: 'sha256-8mib:00' }];
  const manifest = { ...saved, machine, containers: ['main'], files, bytes: 5, savedAt: '2026-01-01T12:00:00Z' };
  const folder = join(root, ID.namespace, uid);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(folder, 'checkpoint.img'), 'saved');
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
}

/** Resolves when the agent logs that it serves, and passes everything on that it logs. */
async function waitUntilServing({ stderr }: ChildProcess): Promise<void> {
  if (stderr === null) throw new Error('the agent has no log');
  stderr.pipe(process.stderr);
  for await (const line of createInterface({ input: stderr })) if (line.includes('the agent serves')) return;
  throw new Error('the agent ended before it served');
}

beforeAll(async () => {
  const bin = await ensureBinaries(['sandlot-node', 'runsc']);
  const [folder, tlsDir] = [await mkdtemp(join(tmpdir(), 'sandlot-agent-')), await writeTlsDir(agentIdentity)];
  folders.push(folder, tlsDir);
  port = await findFreePort();
  root = join(folder, 'snapshots');
  const flags = {
    node: 'node-1',
    root,
    state: join(folder, 'state'),
    runsc: bin('runsc'),
    'runsc-root': join(folder, 'runsc'),
    socket: join(folder, 'node.sock'),
    listen: `127.0.0.1:${port}`,
    metrics: '127.0.0.1:0',
    'tls-dir': tlsDir,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`-${name}`, value]);
  agent = spawn(bin('sandlot-node'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  await waitUntilServing(agent);
  client = await makeClient(controllerIdentity);
}, 600_000);

afterAll(async () => {
  agent.kill('SIGKILL');
  if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

describe('the agent of a node', () => {
  it('says what its node is, with a hash that is a label value', async () => {
    const { node, fingerprint } = await client.describeNode(never);
    expect(node).toBe('node-1');
    expect(fingerprint.hash).toMatch(/^[0-9a-f]{16}$/);
  });

  it('does not know a Pod that is not in gVisor', async () => {
    const save = client.save(ID, { source, mode: 'Hibernate' }, never);
    await expect(save).rejects.toMatchObject({ name: 'AgentRefusal', code: 'PodAbsent' });
  });

  it('announces no restore of a snapshot that it does not have', async () => {
    await expect(client.restore(ID, POD, never)).rejects.toMatchObject({ name: 'AgentRefusal', code: 'Absent' });
  });

  it('copies what may be shared, once for each start, also when the original is gone by then', async () => {
    const [original, copy] = ['22222222-7425-40de-944b-e07fc1f90ae7', '33333333-7425-40de-944b-e07fc1f90ae7'];
    await store(original, 'Snapshot');
    const id = { ...ID, uid: copy };
    const made = await client.copy(id, original, never);
    const { podUID: podUid, sandboxUID: sandboxUid } = source;
    expect(made).toMatchObject({ snapshotUid: copy, source: { podUid, sandboxUid }, bytes: 5 });
    expect(made.savedAt).toBe('2026-01-01T12:00:00Z');
    await client.erase({ ...ID, uid: original }, never);
    expect(await client.copy(id, original, never)).toEqual(made);
    expect((await client.list(never)).map(({ snapshotUid }) => snapshotUid)).toEqual([copy]);
    const again = client.copy({ ...ID, uid: original }, copy, never);
    await expect(again).rejects.toMatchObject({ name: 'AgentRefusal', code: 'NotShared' });
  });

  it('copies neither a hibernation nor what is in another namespace, or absent', async () => {
    const hibernation = '44444444-7425-40de-944b-e07fc1f90ae7';
    await store(hibernation, 'Hibernate');
    await expect(client.copy(ID, hibernation, never)).rejects.toMatchObject({ code: 'NotShared' });
    const elsewhere = client.copy({ namespace: 'team-b', uid: ID.uid }, hibernation, never);
    await expect(elsewhere).rejects.toMatchObject({ code: 'Absent' });
    await expect(client.copy(ID, POD.podUID, never)).rejects.toMatchObject({ code: 'Absent' });
  });

  it('withdraws and erases what it does not have', async () => {
    expect(await client.withdraw(POD.podUID, never)).toBe('withdrawn');
    expect(await client.erase(ID, never)).toBe('erased');
  });

  it('listens to no client but the controller', async () => {
    const stranger = await makeClient(strangerIdentity);
    await expect(stranger.describeNode(never)).rejects.toMatchObject({ name: 'AgentAway' });
  });
});
