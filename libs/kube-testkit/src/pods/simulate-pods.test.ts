import { FakeClock } from '@sandlot/std/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import { pod } from '../conformance/context.ts';
import type { PodBehaviour } from './pod-status.ts';
import { startFakeApiServer } from '../server/server.ts';
import type { FakeApiServer } from '../server/server.ts';
import { simulatePods } from './simulate-pods.ts';
import type { PodSimulation } from './simulate-pods.ts';

const namespace = 'team-a';
const key = { namespace, name: 'a' };

let server: FakeApiServer;
let client: KubeClient;
let simulation: PodSimulation;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = server.client();
});
afterEach(async () => {
  simulation.stop();
  await server.stop();
});

function findReadyStatus({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

const current = (): Pod => server.object(pods, key) ?? pod(namespace, 'gone');

describe('simulatePods', () => {
  it('makes a pod Running and Ready with a node and its own IP', async () => {
    simulation = simulatePods(server);
    await client.create(pods, pod(namespace, 'a'));
    await client.create(pods, pod(namespace, 'b'));
    const [ip, otherIp] = server.objects(pods).map(({ status }) => status?.podIP);
    expect([current().status?.phase, findReadyStatus(current())]).toEqual(['Running', 'True']);
    expect(current().spec.nodeName).toBe('simulated-node');
    expect(current().status?.podIPs).toEqual([{ ip }]);
    expect(ip).not.toBe(otherIp);
  });

  it.each<[PodBehaviour, string, string | undefined]>([
    ['notReady', 'Running', 'False'],
    ['stayPending', 'Pending', 'False'],
    ['imagePullBackOff', 'Pending', 'False'],
    ['unschedulable', 'Pending', undefined],
    ['succeed', 'Succeeded', 'False'],
    ['fail', 'Failed', 'False'],
  ])('simulates a pod with the behaviour %s', async (behaviour, phase, isReady) => {
    simulation = simulatePods(server);
    simulation.behave({ name: 'a' }, behaviour);
    await client.create(pods, pod(namespace, 'a'));
    expect([current().status?.phase, findReadyStatus(current())]).toEqual([phase, isReady]);
  });

  it('applies new behaviour to existing pods, but not to ended ones', async () => {
    simulation = simulatePods(server, { behaviour: 'unschedulable' });
    await client.create(pods, pod(namespace, 'a'));
    expect(current().spec.nodeName).toBeUndefined();
    simulation.behave(() => true, 'run');
    expect(current().status?.phase).toBe('Running');
    simulation.behave(key, 'fail');
    simulation.behave(key, 'run');
    expect(current().status?.phase).toBe('Failed');
  });

  it('delays by the injected clock', async () => {
    const clock = new FakeClock();
    simulation = simulatePods(server, { delayMs: 1_000, clock });
    await client.create(pods, pod(namespace, 'a'));
    await clock.advance(999);
    expect(current().status?.phase).toBe('Pending');
    await clock.advance(1);
    expect(current().status?.phase).toBe('Running');
    await client.delete(pods, key);
    expect(current().metadata.deletionTimestamp).toBeDefined();
    await clock.advance(1_000);
    expect(server.objects(pods)).toEqual([]);
  });

  it('binds disks and holds back pods whose disk is missing', async () => {
    simulation = simulatePods(server);
    const waiting = pod(namespace, 'a');
    waiting.spec.volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
    await client.create(pods, waiting);
    expect(current().status?.conditions?.[0]?.message).toContain('persistentvolumeclaim "data" not found');
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } };
    await client.create(persistentVolumeClaims, { metadata: { namespace, name: 'data' }, spec });
    await expect.poll(() => current().status?.phase, { interval: 1 }).toBe('Running');
    const [disk] = server.objects(persistentVolumeClaims);
    expect(disk?.status).toEqual({ phase: 'Bound', capacity: { storage: '2Gi' } });
  });

  it('does nothing after stop(), and does not appear in the records', async () => {
    simulation = simulatePods(server);
    await client.create(pods, pod(namespace, 'a'));
    simulation.stop();
    await client.create(pods, pod(namespace, 'b'));
    expect(server.objects(pods).map(({ status }) => status?.phase)).toEqual(['Running', 'Pending']);
    expect(server.writes().map(({ verb }) => verb)).toEqual(['create', 'create']);
  });
});
