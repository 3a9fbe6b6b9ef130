import { access, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { identify } from '../process/identity.ts';
import { destroyCluster } from './destroy.ts';
import type { ClusterHandle } from './handle.ts';
import { openCluster } from './open.ts';
import { createSimulatedCluster } from './simulated.ts';
import { readClusterStatus } from './status.ts';

describe('a simulated cluster', () => {
  let root: string;
  let cluster: ClusterHandle;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'sandlot-checkout-'));
    cluster = await createSimulatedCluster({ root, nodes: 2 });
  });
  afterAll(async () => {
    await destroyCluster({ root });
    await rm(root, { recursive: true, force: true });
  });

  it('runs pods on simulated nodes', async () => {
    await cluster.kubectl(['create', 'deployment', 'web', '--image=web', '--replicas=2']);
    const rollout = await cluster.kubectl(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    expect(rollout).toMatchObject({ code: 0, stderr: '' });
  });

  it('accepts pods that ask for gVisor, as the real node does', async () => {
    const overrides = JSON.stringify({ spec: { runtimeClassName: 'gvisor' } });
    const run = await cluster.kubectl(['run', 'hardened', '--image=web', `--overrides=${overrides}`]);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const ready = await cluster.kubectl(['wait', '--for=condition=Ready', 'pod/hardened', '--timeout=60s']);
    expect(ready).toMatchObject({ code: 0, stderr: '' });
  });

  it('reports every component as healthy', async () => {
    const status = await readClusterStatus({ root });
    const names = status.map((component) => component.name);
    expect(names).toEqual(expect.arrayContaining(['etcd', 'kube-apiserver', 'kwok', 'nats-server']));
    for (const component of status) expect(component).toMatchObject({ healthy: true });
  });

  it('keeps healthy components when it is created again', async () => {
    const before = await pids(root);
    await createSimulatedCluster({ root, nodes: 2 });
    expect(await pids(root)).toEqual(before);
  });

  it('opens without starting a component', async () => {
    expect((await openCluster({ root }))?.server).toBe(cluster.server);
    expect(await openCluster({ root: join(root, 'elsewhere') })).toBeUndefined();
  });

  it('recovers with its objects after all processes were killed', async () => {
    const before = await pids(root);
    for (const pid of before.values()) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    const again = await createSimulatedCluster({ root, nodes: 2 });
    expect(again.server).toBe(cluster.server);
    expect((await again.kubectl(['get', 'deployment', 'web', '--output=name'])).stdout).toBe('deployment.apps/web\n');
    for (const component of await readClusterStatus({ root })) expect(component.healthy).toBe(true);
  });

  it('leaves no process and no file behind, and can be destroyed twice', async () => {
    const before = await pids(root);
    await destroyCluster({ root });
    for (const pid of before.values()) expect(await identify(pid ?? 0)).toBeUndefined();
    await expect(access(join(root, '.sandlot'))).rejects.toThrow('ENOENT');
    await destroyCluster({ root });
    expect(await readClusterStatus({ root })).toEqual([]);
  });
});

async function pids(root: string): Promise<Map<string, number | undefined>> {
  return new Map((await readClusterStatus({ root })).map((component) => [component.name, component.pid]));
}
