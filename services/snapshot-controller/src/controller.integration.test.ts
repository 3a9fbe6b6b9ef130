// The controller as its image runs it, with the rights of its role, on a real API server, against an agent over mutual TLS.
import { connectBus } from '@sandlot/bus';
import type { EventType } from '@sandlot/bus';
import { persistentVolumeClaims } from '@sandlot/kube';
import { silentLogger } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealStage } from '../test/real-stage.ts';
import { BYTES, HASH } from '../test/test-agent.ts';

let stage: RealStage;

beforeAll(async () => {
  stage = await RealStage.start();
});
afterAll(() => stage[Symbol.asyncDispose]());

const isAnnounced = (uid: string | undefined): boolean => stage.agent.grants.has(uid ?? '');

async function untilAnnounced(name: string): Promise<string> {
  const found = await stage.until(name, (object) => isAnnounced(object?.status?.restore?.podUID));
  return found?.status?.restore?.podUID ?? '';
}

describe('the snapshot-controller', () => {
  it('saves, restores and forgets a Sandbox with the rights of its role, and publishes it', async () => {
    const bus = await connectBus({ url: stage.nats.url, service: 'test', streams: 'none', log: silentLogger });
    const heard: string[] = [];
    const types: readonly EventType[] = ['snapshot.ready', 'sandbox.hibernated', 'sandbox.restored'];
    for (const type of types) bus.onHint(type, (event) => heard.push(event.type));
    const controller = await stage.startController();
    await stage.hibernate('whole');
    const saved = await stage.untilPhase('whole', 'Ready');
    expect(saved.status).toMatchObject({ sizeBytes: BYTES, nodeName: 'node-1', fingerprint: HASH });
    expect(await stage.readNodeLabel()).toBe(HASH);
    await stage.until('whole', (object) => object?.status?.remote?.state === 'Uploaded');
    await stage.removePod('whole');
    await stage.addMarkedPod('whole', saved);
    stage.agent.end(await untilAnnounced('whole'), 'Restored');
    await stage.until('whole', (object) => object?.status?.restore?.state === 'Restored');
    await stage.deleteSnapshot('whole');
    await stage.until('whole', (object) => object === undefined);
    expect([stage.agent.stored.size, stage.agent.bucket?.size]).toEqual([0, 0]);
    await expect.poll(() => new Set(heard).size, { timeout: 20_000 }).toBe(types.length);
    await bus.close();
    expect(await controller.stop()).toBe(0);
  });

  it('joins a save whose controller was killed', async () => {
    stage.agent.holdsSaves = true;
    const begun = stage.agent.begun.length;
    const first = await stage.startController();
    await stage.hibernate('joined');
    await stage.untilPhase('joined', 'Saving');
    await expect.poll(() => stage.agent.begun.length, { timeout: 20_000 }).toBe(begun + 1);
    await stage.kill(first);
    const asked = (): number =>
      stage.agent.requests.filter((request) => request.startsWith('PUT /v1/snapshots')).length;
    const before = asked();
    const second = await stage.startController({ POD_NAME: 'second' });
    await expect.poll(asked, { timeout: 30_000 }).toBe(before + 1);
    stage.agent.finishSaves();
    await stage.untilPhase('joined', 'Ready');
    expect(stage.agent.begun).toHaveLength(begun + 1);
    await second.stop();
  });

  it('copies the disks of a Sandbox with the rights of its role', async () => {
    const controller = await stage.startController();
    await stage.saveWithDisk('full');
    const begun = await stage.until('full', (object) => object?.status?.disks !== undefined);
    const { claimName = '' } = begun?.status?.disks?.[0] ?? {};
    const find = () => stage.client.find(persistentVolumeClaims, { namespace: 'team-a', name: claimName });
    await expect.poll(find, { timeout: 20_000 }).toMatchObject({
      spec: { storageClassName: 'fast', dataSource: { kind: 'PersistentVolumeClaim', name: 'work-full' } },
    });
    await stage.bind(claimName);
    expect((await stage.untilPhase('full', 'Ready')).status?.disks).toEqual([{ name: 'work', claimName }]);
    expect(await controller.stop()).toBe(0);
  });

  it('follows a restore whose controller was killed', async () => {
    const first = await stage.startController();
    await stage.hibernate('followed');
    const saved = await stage.untilPhase('followed', 'Ready');
    await stage.removePod('followed');
    await stage.addMarkedPod('followed', saved);
    const podUID = await untilAnnounced('followed');
    await stage.kill(first);
    stage.agent.begin(podUID);
    stage.agent.end(podUID, 'Restored');
    const second = await stage.startController({ POD_NAME: 'second' });
    await stage.until('followed', (object) => object?.status?.restore?.state === 'Restored');
    await second.stop();
  });

  it('lets one Pod of two go on, although two controllers lead', async () => {
    const both = await Promise.all([
      stage.startController({ LEADER_ELECT: 'false', POD_NAME: 'one' }),
      stage.startController({ LEADER_ELECT: 'false', POD_NAME: 'two' }),
    ]);
    await stage.hibernate('wanted');
    const saved = await stage.untilPhase('wanted', 'Ready');
    await stage.removePod('wanted');
    const uids = await Promise.all([stage.addMarkedPod('wanted', saved), stage.addMarkedPod('wanted', saved, 'rival')]);
    const winner = await untilAnnounced('wanted');
    stage.agent.end(winner, 'Restored');
    await stage.until('wanted', (object) => object?.status?.restore?.state === 'Restored');
    const announced = new Set(stage.agent.requests.filter((request) => request.startsWith('PUT /v1/restores/')));
    const rivals = uids.map(({ metadata }) => metadata.uid ?? '').filter((uid) => uid !== winner);
    expect(rivals.filter((uid) => announced.has(`PUT /v1/restores/${uid}`))).toEqual([]);
    await Promise.all(both.map((controller) => controller.stop()));
  });
});
