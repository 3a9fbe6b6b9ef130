import { findCondition, sandboxClaims, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { createInformer, defineResource } from '@sandlot/kube';
import type { KubeClient, KubeObject } from '@sandlot/kube';

/** The stages of a claim, in milliseconds after its creation was sent. */
export interface Timeline {
  readonly submittedMs: number;
  readonly boundMs: number;
  readonly readyMs: number;
}

interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

const configMaps = defineResource<ConfigMap>({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
});

const now = (): number => performance.now();

/** The floor: the same three writes by a bare client, a create and two guarded patches, with the smallest objects. */
export async function measureFloor(client: KubeClient, namespace: string, count: number): Promise<number[]> {
  const other = await client.create(configMaps, { metadata: { namespace, name: 'floor-other' } });
  let { resourceVersion } = other.metadata;
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const key = { namespace, name: `floor-${i}` };
    const startedMs = now();
    const made = await client.create(configMaps, { metadata: key });
    const committed = await client.mergePatch(
      configMaps,
      { namespace, name: 'floor-other' },
      { metadata: { resourceVersion }, data: { owner: key.name } },
    );
    const guard = { resourceVersion: made.metadata.resourceVersion };
    await client.mergePatch(configMaps, key, { metadata: guard, data: { ready: 'True' } });
    times.push(now() - startedMs);
    ({ resourceVersion } = committed.metadata);
  }
  return times;
}

/** Creates a busybox template with a pool, and waits until the pool is full. */
export async function fillPool(client: KubeClient, namespace: string, replicas: number): Promise<void> {
  const container = { name: 'box', image: 'busybox', command: ['sleep', 'infinity'] };
  await client.create(sandboxTemplates, {
    metadata: { namespace, name: 'box' },
    spec: { podTemplate: { spec: { terminationGracePeriodSeconds: 0, containers: [container] } } },
  });
  await client.create(sandboxWarmPools, {
    metadata: { namespace, name: 'boxes' },
    spec: { replicas, sandboxTemplateRef: { name: 'box' } },
  });
  const isFull = async (): Promise<boolean> => {
    const { status } = await client.get(sandboxWarmPools, { namespace, name: 'boxes' });
    return status?.readyReplicas === replicas;
  };
  while (!(await isFull())) await new Promise((resolve) => setTimeout(resolve, 200));
}

interface Seen {
  boundMs?: number;
  readyMs?: number;
}

/** Records the first time of each stage. */
function note(known: Seen, { status }: SandboxClaim): void {
  if (status?.sandbox?.name !== undefined) known.boundMs ??= now();
  if (findCondition(status?.conditions, 'Ready')?.status === 'True') known.readyMs ??= now();
}

/** Creates claims one at a time, and times each until a watch shows it bound and Ready. */
export async function measureClaims(
  client: KubeClient,
  namespace: string,
  claims: readonly SandboxClaim[],
): Promise<Timeline[]> {
  const stop = new AbortController();
  const informer = createInformer({ client, resource: sandboxClaims, namespaces: [namespace] });
  const seen = new Map<string, Seen>();
  let notify = (): void => undefined;
  informer.onChange(({ next }) => {
    const known = seen.get(next?.metadata.name ?? '');
    if (next === undefined || known === undefined) return;
    note(known, next);
    notify();
  });
  const running = informer.run(stop.signal);
  await informer.waitUntilSynced();
  const timelines: Timeline[] = [];
  for (const claim of claims) {
    const known: Seen = {};
    seen.set(claim.metadata.name ?? '', known);
    const startedMs = now();
    await client.create(sandboxClaims, claim);
    const submittedMs = now() - startedMs;
    while (known.readyMs === undefined) await new Promise<void>((resolve) => (notify = resolve));
    const boundMs = (known.boundMs ?? known.readyMs) - startedMs;
    timelines.push({ submittedMs, boundMs, readyMs: known.readyMs - startedMs });
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  stop.abort();
  await running;
  return timelines;
}
