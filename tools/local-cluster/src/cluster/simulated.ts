import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { applyObject, createApiClient } from '../api-client.ts';
import { ensureBinaries } from '../binaries/ensure.ts';
import { buildKwokConfiguration, listKwokFlags } from '../components/flags.ts';
import { createSimulatedNodes } from '../components/simulated-nodes.ts';
import { gvisorClass } from '../node/gvisor.ts';
import type { ClusterOptions } from '../node/node.ts';
import { exec, execOrThrow } from '../process/exec.ts';
import { withLock } from '../process/lock.ts';
import { silentProgress, withStep } from '../progress.ts';
import { natsConfig } from '../test-servers/nats.ts';
import { redisCommand } from '../test-servers/redis.ts';
import { resolveChoices } from './choices.ts';
import type { Component } from './component.ts';
import { ensureComponent } from './component.ts';
import type { ClusterContext } from './control-plane.ts';
import { formatComponentKubeconfig, ensureControlPlane, formatServerUrl } from './control-plane.ts';
import type { ClusterHandle } from './handle.ts';
import { createClusterHandle } from './handle.ts';
import { getClusterPaths, lockPath } from './paths.ts';

const loopback = '127.0.0.1';
const lockTimeoutMs = 30 * 60_000;
const defaultNodes = 3;

/**
 * Creates a real control plane with simulated nodes; needs no root. Objects behave as usual, but no containers run. NATS,
 * and Redis if it is installed, run beside it. A second call keeps healthy components. Throws MissingToolError or
 * ComponentError.
 */
export async function createSimulatedCluster(options: ClusterOptions & { nodes?: number }): Promise<ClusterHandle> {
  const { root, progress = silentProgress, nodes = defaultNodes } = options;
  const paths = getClusterPaths(root);
  return withLock(lockPath(paths), { timeoutMs: lockTimeoutMs }, async () => {
    const bin = await ensureBinaries(['kube', 'pki', 'kwok', 'kwok-stages', 'nats-server', 'helm'], { progress });
    const context: ClusterContext = { paths, bin, choices: await resolveChoices(paths, 'simulated') };
    const redis = await buildRedisComponent(context);
    await withStep(progress, 'Control plane', async () =>
      ensureControlPlane(context, { address: loopback, apiServerFlags: [], certificates: [] }),
    );
    await withStep(progress, 'Simulated nodes', async () => {
      await ensureComponent(paths, await buildKwokComponent(context));
      const server = formatServerUrl(context, loopback);
      const api = await createApiClient({ server, pkiDir: paths.pki, certificate: 'admin' });
      await createSimulatedNodes(api, nodes);
      // Nothing runs on gVisor here, but the API server rejects a pod whose RuntimeClass does not exist.
      await applyObject(api, '/apis/node.k8s.io/v1/runtimeclasses/gvisor', gvisorClass);
    });
    await withStep(progress, redis === undefined ? 'NATS' : 'NATS and Redis', async () => {
      await ensureComponent(paths, await buildNatsComponent(context));
      if (redis !== undefined) await ensureComponent(paths, redis);
    });
    return createClusterHandle(context, loopback, redis !== undefined);
  });
}

async function buildKwokComponent({ paths, choices, bin }: ClusterContext): Promise<Component> {
  const configuration = buildKwokConfiguration((await execOrThrow([bin('kwok-stages')])).stdout);
  const stagesFile = join(paths.state, 'kwok-stages.yaml');
  await writeFile(stagesFile, configuration);
  const address = `${loopback}:${choices.ports.kwok}`;
  const flags = listKwokFlags({ kubeconfig: formatComponentKubeconfig(paths, 'admin'), stagesFile });
  return {
    name: 'kwok',
    cwd: paths.state,
    argv: [bin('kwok'), ...flags, `--server-address=${address}`],
    configuration,
    probe: { kind: 'http', url: `http://${address}/healthz` },
  };
}

async function buildNatsComponent({ paths, choices, bin }: ClusterContext): Promise<Component> {
  const storeDir = join(paths.state, 'data/nats');
  await mkdir(storeDir, { recursive: true });
  const configuration = JSON.stringify(natsConfig({}, { port: choices.ports.nats, storeDir }));
  const file = join(paths.state, 'nats.json');
  await writeFile(file, configuration);
  return {
    name: 'nats-server',
    cwd: paths.state,
    argv: [bin('nats-server'), '--config', file],
    configuration,
    probe: { kind: 'banner', port: choices.ports.nats, send: '', expect: 'INFO ' },
  };
}

async function buildRedisComponent({ paths, choices }: ClusterContext): Promise<Component | undefined> {
  if ((await exec(['redis-server', '--version'])).code !== 0) return undefined;
  const folder = join(paths.state, 'data/redis');
  await mkdir(folder, { recursive: true });
  const port = choices.ports.redis;
  return {
    name: 'redis-server',
    cwd: folder,
    argv: redisCommand({ port, folder }),
    probe: { kind: 'banner', port, send: 'PING\r\n', expect: '+PONG' },
  };
}
