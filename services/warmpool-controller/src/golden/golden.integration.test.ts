// The golden snapshot of a template on a real API server. The test stands in for the snapshot-controller.
import { labels, sandboxes, sandboxSnapshots, sandboxTemplates, sandboxWarmPools } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, namespaces } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import { startControlPlane } from '@sandlot/local-cluster';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import type { ServiceProcess } from '@sandlot/service-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BINDING, CRDS, ROLE, USER } from '../../test/control-plane.ts';
import { buildSnapshotStatus } from '../../test/golden.ts';

const TEAM = 'team-a';
const POOL = { namespace: TEAM, name: 'pool' };
const TEMPLATE = { namespace: TEAM, name: 'template' };

let plane: ControlPlane;
let client: KubeClient;
const processes: ServiceProcess[] = [];

beforeAll(async () => {
  plane = await startControlPlane({ crds: [CRDS], kwokNodes: 1, scheduler: true, controllerManager: true });
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: plane.kubeconfigPath }) });
  for (const object of [ROLE, BINDING]) await plane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const start = async (name: string, kubeconfig: string): Promise<void> => {
    const main = new URL(`../../../${name}/src/main.ts`, import.meta.url);
    processes.push(await startServiceProcess(main, { KUBECONFIG: kubeconfig, SNAPSHOTS_ENABLED: 'true' }));
  };
  await start('sandbox-controller', plane.kubeconfigPath);
  await start('warmpool-controller', await plane.kubeconfigFor(USER));
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  await client.create(namespaces, { metadata: { name: TEAM } });
  await client.create(sandboxTemplates, { metadata: TEMPLATE, spec: { podTemplate, golden: {} } });
  await client.create(sandboxWarmPools, { metadata: POOL, spec: { replicas: 2, sandboxTemplateRef: { name: 'template' } } });
});
afterAll(async () => {
  for (const process of processes) await process.kill();
  await client.close();
  await plane.stop();
});

/** Polls ten times a second, for at most a minute. */
async function until<T>(look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const seen = await look();
    if (holds(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the condition did not hold within a minute');
}

const listBoxes = async (): Promise<Sandbox[]> => (await client.listAll(sandboxes, { namespace: TEAM })).items;
const listGolden = async (): Promise<Sandbox[]> =>
  (await listBoxes()).filter(({ metadata }) => metadata.labels?.[labels.golden] !== undefined);
const listMembers = async (): Promise<Sandbox[]> =>
  (await listBoxes()).filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxWarmPool');
const listSnapshots = async (): Promise<SandboxSnapshot[]> =>
  (await client.listAll(sandboxSnapshots, { namespace: TEAM })).items.filter(
    ({ metadata }) => metadata.labels?.[labels.golden] !== undefined,
  );

/** Waits for the snapshot that the controller makes beside `before`, and has it saved. */
async function saveSnapshot(before?: string): Promise<SandboxSnapshot> {
  const found = await until(listSnapshots, (all) => all.some(({ metadata }) => metadata.name !== before));
  const made = found.find(({ metadata }) => metadata.name !== before);
  if (made === undefined) throw new Error('the snapshot is gone');
  const status: JsonObject = JSON.parse(JSON.stringify(buildSnapshotStatus('Ready'))) as JsonObject;
  const key = { namespace: TEAM, name: made.metadata.name ?? '' };
  await client.mergePatch(sandboxSnapshots, key, { status }, { subresource: 'status' });
  return made;
}

const scaleTo = (replicas: number): Promise<unknown> => client.mergePatch(sandboxWarmPools, POOL, { spec: { replicas } });
const findStarts = (members: readonly Sandbox[]): (string | undefined)[] =>
  members.map(({ spec }) => spec.restoreFrom?.snapshotName);

let first = '';

it('is taken of a Sandbox of its own, which then goes, and members boot meanwhile', async () => {
  const made = await until(listSnapshots, (all) => all.length === 1);
  expect(findStarts(await until(listMembers, (all) => all.length === 2))).toEqual([undefined, undefined]);
  const [box] = await listGolden();
  expect(made[0]?.spec).toEqual({ sandboxName: box?.metadata.name, whenSaved: 'Resume', contents: 'Memory' });
  expect(box?.metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['SandboxTemplate template']);
  first = (await saveSnapshot()).metadata.name ?? '';
  await until(listGolden, (all) => all.length === 0);
});

it('is what members start from that are made after it, and all of them are current', async () => {
  await scaleTo(4);
  const members = await until(listMembers, (all) => all.length === 4);
  expect(findStarts(members).filter((name) => name !== undefined)).toEqual([first, first]);
  const { status } = await until(
    () => client.get(sandboxWarmPools, POOL),
    (pool) => pool.status?.replicas === 4,
  );
  expect(status?.updatedReplicas).toBe(4);
});

it('is deleted when the blueprint changes, and another one is made', async () => {
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox:2' }] } };
  await client.mergePatch(sandboxTemplates, TEMPLATE, { spec: { podTemplate } });
  const second = await saveSnapshot(first);
  expect((await until(listSnapshots, (all) => all.length === 1))[0]?.metadata.name).toBe(second.metadata.name);
  await until(listGolden, (all) => all.length === 0);
});

it('goes with its template', async () => {
  await plane.kubectl(['delete', 'sandboxtemplate', TEMPLATE.name, '-n', TEAM]);
  await until(listSnapshots, (all) => all.length === 0);
});
