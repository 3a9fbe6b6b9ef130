import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '@sandlot/std/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { controllerIdentity, strangerIdentity } from '../../test/certificates.ts';
import { writeTlsDir } from '../../test/harness.ts';
import { HASH, TestAgent } from '../../test/test-agent.ts';
import { AgentClient } from './agent-client.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

const never = new AbortController().signal;

async function makeFolder(identity = controllerIdentity): Promise<string> {
  const folder = await writeTlsDir(identity);
  folders.push(folder);
  return folder;
}

async function connect(port: number, identity = controllerIdentity): Promise<AgentClient> {
  return new AgentClient({ clock: new FakeClock(0), host: '127.0.0.1', port, tlsDir: await makeFolder(identity) });
}

describe('the client of an agent', () => {
  it('reads what the node is', async () => {
    await using agent = await TestAgent.start();
    const client = await connect(agent.port);
    expect(await client.describeNode(never)).toMatchObject({ node: 'node-1', fingerprint: { hash: HASH } });
  });

  it('tells nothing to a server that is not an agent, although the same authority knows it', async () => {
    await using stranger = await TestAgent.start({ identity: strangerIdentity });
    const client = await connect(stranger.port);
    await expect(client.withdraw('uid', never)).rejects.toMatchObject({ name: 'AgentAway' });
    expect(stranger.requests).toEqual([]);
  });

  it('is refused without the name of the controller', async () => {
    await using agent = await TestAgent.start();
    const client = await connect(agent.port, strangerIdentity);
    await expect(client.describeNode(never)).rejects.toMatchObject({ name: 'AgentRefusal', code: 'Forbidden' });
  });

  it('uses new certificates without a restart', async () => {
    await using agent = await TestAgent.start();
    const tlsDir = await makeFolder(strangerIdentity);
    const client = new AgentClient({ clock: new FakeClock(0), host: '127.0.0.1', port: agent.port, tlsDir });
    await expect(client.describeNode(never)).rejects.toMatchObject({ code: 'Forbidden' });
    await writeFile(join(tlsDir, 'tls.crt'), controllerIdentity.cert);
    await writeFile(join(tlsDir, 'tls.key'), controllerIdentity.key);
    expect(await client.describeNode(never)).toMatchObject({ node: 'node-1' });
  });

  it.each([
    [503, 'Busy', 'AgentAway'],
    [500, 'Internal', 'AgentAway'],
    [409, 'Conflict', 'AgentRefusal'],
  ])('takes %i %s about a restore for %s, since a refusal costs the memory', async (status, code, name) => {
    await using agent = await TestAgent.start();
    agent.restoreRefusal = { status, code, message: 'the disk does not answer' };
    const client = await connect(agent.port);
    const pod = { podName: 'box', podUID: 'uid' };
    const restored = client.restore({ namespace: 'team', uid: 'snapshot' }, pod, never);
    await expect(restored).rejects.toMatchObject({ name, message: 'the disk does not answer' });
    await expect(client.withdraw('uid', never)).rejects.toMatchObject({ name, message: 'the disk does not answer' });
  });

  it('gives up on a server that never answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const clock = new FakeClock(0);
    const tlsDir = await makeFolder();
    const { port } = server.address() as AddressInfo;
    const client = new AgentClient({ clock, host: '127.0.0.1', port, tlsDir });
    const asked = expect(client.describeNode(never)).rejects.toThrow('no answer within 15 s');
    await clock.advance(15_000);
    await asked;
    server.close();
  });

  it('says which file it lacks', async () => {
    const tlsDir = await mkdtemp(join(tmpdir(), 'sandlot-no-tls-'));
    folders.push(tlsDir);
    for (const other of ['tls.key', 'ca.crt']) await writeFile(join(tlsDir, other), '');
    const client = new AgentClient({ clock: new FakeClock(0), host: '127.0.0.1', port: 1, tlsDir });
    await expect(client.describeNode(never)).rejects.toThrow('tls.crt');
  });
});
