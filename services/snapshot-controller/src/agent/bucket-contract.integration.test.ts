// The client against two agents that share a bucket of a real S3 server, configured as the chart does it.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startS3Server } from '@sandlot/local-cluster';
import type { S3Server } from '@sandlot/local-cluster';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ID, POD, RealAgent } from '../../test/real-agent.ts';
import type { AgentClient } from './agent-client.ts';
import { restoreHere } from './restore-here.ts';

const never = new AbortController().signal;
const HIBERNATION = '55555555-7425-40de-944b-e07fc1f90ae7';
const ORIGINAL = '66666666-7425-40de-944b-e07fc1f90ae7';
const COPY = '77777777-7425-40de-944b-e07fc1f90ae7';
const PATIENCE_MS = 60_000;

let folder: string;
let server: S3Server;
let agents: readonly RealAgent[];
let here: AgentClient;
let there: AgentClient;

async function writeFolder(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content);
  return path;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandlot-bucket-'));
  server = await startS3Server({ tls: true });
  const { accessKey, secretKey, ca = '' } = server;
  const secret = Buffer.alloc(32, 7).toString('base64');
  const flags = {
    's3-endpoint': server.url,
    's3-bucket': server.bucket,
    's3-region': server.region,
    's3-prefix': 'cluster-a',
    's3-path-style': 'true',
    's3-credentials': await writeFolder('s3', { 'access-key-id': accessKey, 'secret-access-key': secretKey }),
    's3-keys': join(await writeFolder('s3-keys', { keys: `chart ${secret}\n` }), 'keys'),
    'most-transfers': '2',
  };
  const env = { SSL_CERT_DIR: await writeFolder('s3-ca', { 'ca.crt': ca }) };
  agents = await Promise.all(['node-1', 'node-2'].map((node) => RealAgent.start({ node, flags, env })));
  [here, there] = (await Promise.all(agents.map((agent) => agent.connect()))) as [AgentClient, AgentClient];
}, 600_000);

afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const at = (uid: string) => ({ ...ID, uid });

describe('two agents that share a bucket', () => {
  it(
    'move a hibernation to the node of its new Pod, and both forget it',
    async () => {
      await agents[0]?.store(HIBERNATION, 'Hibernate');
      const { digest, ...sent } = await here.upload(at(HIBERNATION), never);
      expect(await here.upload(at(HIBERNATION), never)).toMatchObject({ digest });
      const got = await there.download(at(HIBERNATION), { uid: HIBERNATION, digest }, never);
      expect(got).toEqual(sent);
      expect((await there.list(never)).map(({ snapshotUid }) => snapshotUid)).toEqual([HIBERNATION]);
      expect(await here.erase(at(HIBERNATION), true, never)).toBe('erased');
      expect(await there.erase(at(HIBERNATION), false, never)).toBe('erased');
      expect(await there.eraseRemote(at(HIBERNATION), never)).toBe('erased');
      const gone = there.download(at(HIBERNATION), { uid: HIBERNATION, digest }, never);
      await expect(gone).rejects.toMatchObject({ name: 'AgentRefusal', code: 'Absent' });
    },
    PATIENCE_MS,
  );

  it(
    'refuse what has another digest, for good',
    async () => {
      await agents[0]?.store(ORIGINAL, 'Snapshot');
      await here.upload(at(ORIGINAL), never);
      const other = { uid: ORIGINAL, digest: `sha256:${'0'.repeat(64)}` };
      const refused = there.download(at(ORIGINAL), other, never);
      await expect(refused).rejects.toMatchObject({ name: 'AgentRefusal', code: 'RemoteRefused' });
    },
    PATIENCE_MS,
  );

  it(
    'get to the answer about a Pod by way of a download and a copy',
    async () => {
      const { digest } = await here.upload(at(ORIGINAL), never);
      const ended = await restoreHere(there, {
        ...{ id: at(COPY), request: POD, remote: { uid: ORIGINAL, digest }, signal: never },
        measure: (download) => download(),
      });
      // The memory is not of this processor: the agent says so when the copy is there.
      expect(ended.state).toBe('Failed');
      expect((await there.list(never)).map(({ snapshotUid }) => snapshotUid).sort()).toEqual([ORIGINAL, COPY]);
    },
    PATIENCE_MS,
  );

  it(
    'have nothing to upload of what they do not have, and are asked again',
    async () => {
      await expect(here.upload(at(ID.uid), never)).rejects.toMatchObject({ name: 'AgentAway' });
      expect(await here.eraseRemote(at(ID.uid), never)).toBe('erased');
    },
    PATIENCE_MS,
  );
});
