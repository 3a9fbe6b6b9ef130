import { annotations, sandboxClaims, sandboxes, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim, SandboxTemplate, SandboxWarmPool } from '@sandlot/api-types';
import { isNotFound, persistentVolumes } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';
import type { ControlPlane } from '@sandlot/local-cluster';
import { pause } from '../claims/shapes.ts';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

export interface LoadOptions {
  readonly seconds: number;
  /** An outage of the API server in the middle of the load. */
  readonly outage?: Outage;
}

interface Outage {
  /** The outage starts when this resolves, but not before half of the load. */
  readonly begin: () => Promise<unknown>;
  /** The outage ends when this resolves. */
  readonly end: () => Promise<unknown>;
}

const PER_SECOND = 4;
/** How long a claim keeps its sandbox. */
const USE_MS = 8_000;
/** Far more than the pool has members, so that it stays empty until its controller notices. */
const BURST = 40;
const DISKS = 4;
const FAILURES = 4;

/**
 * Causes every kind of event that has a metric: warm and cold claims of two templates, a burst that empties a pool, claims that
 * fail and wait, stuck members, disks, suspensions, deadlines, and an outage of the API server.
 */
export async function runLoad({ client, plane }: Stage, { seconds, outage }: LoadOptions): Promise<void> {
  await Promise.all([
    runClaims(client, seconds),
    pause((seconds * 1_000) / 3).then(() => runBurst(client)),
    troubles(client),
    createSleepers(client),
    outage === undefined ? undefined : pause((seconds * 1_000) / 2).then(() => interrupt(plane, outage)),
  ]);
}

async function interrupt(plane: ControlPlane, { begin, end }: Outage): Promise<void> {
  await begin();
  await plane.kill();
  await end();
  await plane.restart();
}

/** Creates the templates, disks and pools of the load, and waits until the pools are full. */
export async function prepareLoad({ client }: Stage): Promise<void> {
  for (const name of ['box', 'notebook']) await client.create(sandboxTemplates, template(name));
  await client.create(sandboxTemplates, template('nowhere', { nodeSelector: { 'kubernetes.io/hostname': 'nowhere' } }));
  for (let index = 0; index < DISKS; index += 1) await client.create(persistentVolumes, volume(index));
  await client.create(sandboxWarmPools, pool('boxes', 'box', 16));
  await client.create(sandboxWarmPools, pool('notebooks', 'notebook', 8));
  const stuck = pool('stuck', 'nowhere', 2);
  const stuckMember = { graceSeconds: 10, unschedulable: 'Hold' as const };
  await client.create(sandboxWarmPools, { ...stuck, spec: { ...stuck.spec, stuckMember } });
  for (const name of ['boxes', 'notebooks']) await waitUntilFull(client, name);
}

async function waitUntilFull(client: KubeClient, name: string): Promise<void> {
  for (;;) {
    const { spec, status } = await client.get(sandboxWarmPools, { namespace: NAMESPACE, name });
    if (status?.readyReplicas === spec.replicas) return;
    await pause(200);
  }
}

/** Creates claims at a steady rate: every seventh cold, a fifth of the others from the pool of notebooks. */
async function runClaims(client: KubeClient, seconds: number): Promise<void> {
  const beganMs = performance.now();
  const all = Array.from({ length: seconds * PER_SECOND }, async (_, index) => {
    await pause(beganMs + (index * 1_000) / PER_SECOND - performance.now());
    await useOnce(client, claim(`steady-${index}`, buildKind(index)));
  });
  await Promise.all(all);
}

function buildKind(index: number): Partial<SandboxClaim['spec']> {
  if (index % 7 === 3) return { sandboxTemplateRef: { name: index % 2 === 0 ? 'box' : 'notebook' }, warmpool: 'none' };
  return { warmPoolRef: { name: index % 5 === 0 ? 'notebooks' : 'boxes' } };
}

async function runBurst(client: KubeClient): Promise<void> {
  const names = Array.from({ length: BURST }, (_, index) => `burst-${index}`);
  await Promise.all(names.map((name) => useOnce(client, claim(name, { warmPoolRef: { name: 'boxes' } }))));
}

async function troubles(client: KubeClient): Promise<void> {
  await client.create(sandboxClaims, claim('waits', { warmPoolRef: { name: 'stuck' }, createOnNoStock: false }));
  const additionalPodMetadata = { labels: { 'example.com/forbidden': 'yes' } };
  for (let index = 0; index < FAILURES; index += 1) {
    await pause(3_000);
    const wanted = claim(`fails-${index}`, { warmPoolRef: { name: 'boxes' }, additionalPodMetadata });
    await retry(() => client.create(sandboxClaims, wanted));
  }
}

/** Creates Sandboxes with disks, which are suspended, resumed and expire. */
async function createSleepers(client: KubeClient): Promise<void> {
  const names = Array.from({ length: DISKS }, (_, index) => `sleeper-${index}`);
  for (const name of names) {
    await retry(() => client.create(sandboxes, buildSleeper(name)));
    await pause(2_000);
    for (const operatingMode of ['Suspended', 'Running'] as const) {
      await retry(() => client.mergePatch(sandboxes, { namespace: NAMESPACE, name }, { spec: { operatingMode } }));
      await pause(2_000);
    }
  }
}

/** Creates a claim and deletes it after use. During the outage it retries. */
async function useOnce(client: KubeClient, wanted: SandboxClaim): Promise<void> {
  await retry(() => client.create(sandboxClaims, wanted));
  await pause(USE_MS);
  const { namespace, name = '' } = wanted.metadata;
  await retry(() => client.delete(sandboxClaims, { namespace, name }));
}

const TRIES = 60;

async function retry(send: () => Promise<unknown>): Promise<void> {
  for (let left = TRIES; ; left -= 1) {
    try {
      await send();
      return;
    } catch (error) {
      if (isNotFound(error) || isThere(error)) return;
      if (left === 0) throw error;
      await pause(500);
    }
  }
}

const isThere = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'AlreadyExists';

function template(name: string, more: object = {}): SandboxTemplate {
  const resources = { requests: { cpu: name === 'box' ? '250m' : '500m', memory: '256Mi' } };
  const container = { name: 'main', image: 'busybox', command: ['sleep', 'infinity'], resources };
  const spec = { terminationGracePeriodSeconds: 0, containers: [container], ...more };
  return { metadata: { namespace: NAMESPACE, name }, spec: { podTemplate: { spec } } };
}

function pool(name: string, templateName: string, replicas: number): SandboxWarmPool {
  const spec = { replicas, sandboxTemplateRef: { name: templateName } };
  return { metadata: { namespace: NAMESPACE, name }, spec };
}

function claim(name: string, spec: SandboxClaim['spec']): SandboxClaim {
  // The stamps of agent-sandbox clients and webhooks, which its dashboards use.
  const now = new Date().toISOString();
  const keys = [annotations.clientFirstRequestedAt, annotations.webhookFirstObservedAt];
  const stamps = Object.fromEntries(keys.map((key) => [key, now]));
  return { metadata: { namespace: NAMESPACE, name, annotations: stamps }, spec };
}

function buildSleeper(name: string) {
  const resources = { requests: { storage: '1Gi' } };
  const disk = { accessModes: ['ReadWriteOnce'], storageClassName: 'by-hand', resources };
  return {
    metadata: { namespace: NAMESPACE, name },
    spec: {
      podTemplate: template('sleeper').spec.podTemplate,
      volumeClaimTemplates: [{ metadata: { name: 'disk' }, spec: disk }],
      shutdownTime: new Date(Date.now() + 12_000).toISOString().replace(/\.\d+Z$/, 'Z'),
    },
  };
}

function volume(index: number): KubeObject & { spec: object } {
  return {
    metadata: { name: `disk-${index}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'by-hand',
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path: `/tmp/disk-${index}` },
    },
  };
}
