// The client against the agent that the nodes run, which is a program in Go with a contract of its own.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strangerIdentity } from '../../test/certificates.ts';
import { ID, POD, RealAgent, source } from '../../test/real-agent.ts';
import type { AgentClient } from './agent-client.ts';

const never = new AbortController().signal;
let agent: RealAgent;
let client: AgentClient;
const store = (uid: string, mode: 'Hibernate' | 'Snapshot'): Promise<void> => agent.store(uid, mode);

beforeAll(async () => {
  agent = await RealAgent.start();
  client = await agent.connect();
}, 600_000);

afterAll(() => agent[Symbol.asyncDispose]());

describe('the agent of a node', () => {
  it('says what its node is, with a hash that is a label value', async () => {
    const { node, fingerprint } = await client.describeNode(never);
    expect(node).toBe('node-1');
    expect(fingerprint.hash).toMatch(/^[0-9a-f]{16}$/);
  });

  it('says that a Pod does not stand still', async () => {
    await expect(client.endHold(ID, never)).rejects.toMatchObject({ name: 'AgentRefusal', code: 'HoldEnded' });
  });

  it('does not know a Pod that is not in gVisor', async () => {
    for (const how of [{}, { files: true }, { contents: 'Files' }] as const) {
      const save = client.save(ID, { source, mode: 'Hibernate', ...how }, never);
      await expect(save).rejects.toMatchObject({ name: 'AgentRefusal', code: 'PodAbsent' });
    }
  });

  it('announces no restore of a snapshot that it does not have', async () => {
    await expect(client.restore(ID, POD, never)).rejects.toMatchObject({ name: 'AgentRefusal', code: 'Absent' });
  });

  it('restores no files that were not kept', async () => {
    const bare = '55555555-7425-40de-944b-e07fc1f90ae7';
    await store(bare, 'Hibernate');
    const pod = { ...POD, podUID: '66666666-7425-40de-944b-e07fc1f90ae7', only: 'files' } as const;
    const end = await client.restore({ ...ID, uid: bare }, pod, never);
    expect(end).toEqual({ state: 'Failed', message: 'the files of its containers were not kept' });
    await client.erase({ ...ID, uid: bare }, false, never);
  });

  it('learns that no user waits for a Pod, and is asked for the same once a claim has it', async () => {
    const bare = '77777777-7425-40de-944b-e07fc1f90ae7';
    await store(bare, 'Hibernate');
    const pod = { ...POD, podUID: '88888888-7425-40de-944b-e07fc1f90ae7' };
    const message = 'the snapshot is of OCI version 1, this node has 1.2.1';
    for (const spare of [true, undefined] as const) {
      const end = await client.restore({ ...ID, uid: bare }, { ...pod, spare }, never);
      expect(end).toEqual({ state: 'Failed', message });
      expect(await agent.readGrant(pod.podUID)).toMatchObject({ podUid: pod.podUID, spare: true });
    }
    await client.erase({ ...ID, uid: bare }, false, never);
  });

  it('copies what may be shared, once for each start, also when the original is gone by then', async () => {
    const [original, copy] = ['22222222-7425-40de-944b-e07fc1f90ae7', '33333333-7425-40de-944b-e07fc1f90ae7'];
    await store(original, 'Snapshot');
    const id = { ...ID, uid: copy };
    const made = await client.copy(id, original, never);
    const { podUID: podUid, sandboxUID: sandboxUid } = source;
    expect(made).toMatchObject({ snapshotUid: copy, source: { podUid, sandboxUid }, bytes: 5 });
    expect(made.savedAt).toBe('2026-01-01T12:00:00Z');
    await client.erase({ ...ID, uid: original }, false, never);
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
    expect(await client.erase(ID, false, never)).toBe('erased');
  });

  it('listens to no client but the controller', async () => {
    const stranger = await agent.connect(strangerIdentity);
    await expect(stranger.describeNode(never)).rejects.toMatchObject({ name: 'AgentAway' });
  });
});
