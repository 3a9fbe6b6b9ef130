// An installation on a node that reaches one registry alone, by the commands of docs/operations/releases.md#install-without-internet.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pods } from '@sandlot/kube';
import type { Pod } from '@sandlot/kube';
import { ensureUp } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimManifest, formatTemplateManifest } from '../support/manifests.ts';
import { cordon, uncordon } from '../support/nodes/drain.ts';
import { isolateNode } from '../support/nodes/isolate.ts';
import { helm, testRelease } from '../support/nodes/release.ts';
import { findCluster, FIRST_NODE } from '../support/nodes/second-node.ts';
import { listReleasePods } from '../support/releases/census.ts';
import { install, readCurrent, removeLeftovers, uninstall } from '../support/releases/helm.ts';
import {
  copyImages,
  listImages,
  listNamedImages,
  MIRROR_PATH,
  packageChart,
  readCommands,
} from '../support/releases/mirror.ts';
import { followNotes } from '../support/releases/notes.ts';
import { getSandboxName, waitForReadyClaim } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const NODE = 'sandlot-2';

const stack = new AsyncDisposableStack();
let team: Team;
/** An image as the release had it before, which the local registry has. */
let outside: string;
/** Digests by name in the registry of the isolated node. */
let copied: ReadonlyMap<string, string>;
let registry: string;

const getRegistry = (image: string): string => image.slice(0, image.indexOf('/'));

/** A Pod on the isolated node, which nothing controls. */
async function startPod(name: string, image: string): Promise<void> {
  const spec = `{nodeName: ${NODE}, restartPolicy: Never, containers: [{name: box, image: "${image}"}]}`;
  await team.apply(`{apiVersion: v1, kind: Pod, metadata: {name: ${name}}, spec: ${spec}}`);
}

const readPod = (name: string): Promise<Pod> => team.client.get(pods, { namespace: team.namespace, name });

/** Waits until the node has pulled or refused the image of a Pod, as `isSo` says. */
const waitForImage = (name: string, isSo: (pod: Pod) => boolean): Promise<true> =>
  eventually(`the image of ${name}`, async () => (isSo(await readPod(name)) ? true : undefined));

const isPulled = ({ status }: Pod): boolean => (status?.containerStatuses?.[0]?.imageID ?? '') !== '';
const isRefused = ({ status }: Pod): boolean =>
  status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff';

beforeAll(async () => {
  team = stack.use(await createTeam('air-gapped'));
  const current = await readCurrent();
  const [outsideImage] = (await listNamedImages()).filter((image) => image.includes('/claim-controller:'));
  outside = outsideImage ?? '';
  const commands = await readCommands();
  copied = await copyImages(await listImages(), commands);
  registry = getRegistry(commands.getCopyName('x/y'));
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-e2e-chart-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const offline = await packageChart(current, folder);
  // If a test fails, those after this file still find a release.
  stack.defer(async () => {
    await ensureUp({ demo: false, observability: true });
  });
  await uninstall();
  await removeLeftovers();
  const cluster = await findCluster();
  stack.use(await cluster.addNode(NODE));
  stack.defer(async () => {
    await uninstall();
    await removeLeftovers();
  });
  // Every node has the image that holds the namespaces of Pods, which is no part of the release.
  await startPod('node-image', 'docker.io/sandlot/pause:1');
  await waitForImage('node-image', isPulled);
  await isolateNode(NODE, { host: registry, address: cluster.registry?.host ?? '', path: MIRROR_PATH });
  await cordon(team, FIRST_NODE);
  stack.defer(() => uncordon(team, FIRST_NODE));
  const onNode = ['--set', `hibernation.node.nodeSelector.kubernetes\\.io/hostname=${NODE}`];
  await install(offline, team, [...commands.flags, ...onNode]);
}, 1_800_000);
afterAll(() => stack.disposeAsync());

describe('an installation without internet', () => {
  it('is on a node that pulls no image under the name that it has elsewhere', async () => {
    expect(getRegistry(outside)).not.toBe(registry);
    await startPod('outside', outside);
    await waitForImage('outside', isRefused);
  });

  it('runs every image of the release from the registry, with the digest of the copy', async () => {
    const found = (await listReleasePods({ client: team.client })).flatMap(({ spec, status }) => {
      const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
      const ids = new Map(statuses.map(({ name, imageID }) => [name, imageID]));
      return [...spec.containers, ...(spec.initContainers ?? [])].map(({ name, image = '' }) => ({
        node: spec.nodeName,
        image,
        pulled: ids.get(name),
      }));
    });
    expect(found.length).toBeGreaterThan(9);
    expect(found).toEqual(
      found.map(({ image }) => ({
        node: NODE,
        image,
        pulled: `${image.slice(0, image.lastIndexOf(':'))}@${copied.get(image) ?? 'an image that is not in the list'}`,
      })),
    );
  });

  it('names no image elsewhere, and none that the list lacks', async () => {
    const named = await listNamedImages();
    expect(named.length).toBeGreaterThan(9);
    expect(named.filter((image) => !copied.has(image))).toEqual([]);
  });

  it('gives a sandbox its daemon from the registry', async () => {
    const [box = ''] = [...copied.keys()].filter((name) => name.includes('/busybox:'));
    const runtime = [...copied.keys()].filter((name) => name.includes('/runtime:'));
    await team.apply(`${formatTemplateManifest('box', `image: "${box}"`)}  runtime: {inject: true}\n`);
    await team.apply(claimManifest('first', '{sandboxTemplateRef: {name: box}, warmpool: none}'));
    const { spec } = await readPod(getSandboxName(await waitForReadyClaim(team, 'first')));
    const mounted = (spec.volumes ?? []).flatMap(
      ({ image }) => (image as { reference?: string } | undefined)?.reference ?? [],
    );
    expect(mounted).toEqual(runtime);
    expect(spec.nodeName).toBe(NODE);
  });

  it('passes helm test, and the commands of its notes print what a sandbox says', async () => {
    await testRelease();
    expect(await followNotes()).toContain('"stdout":"hello\\n"');
    expect(await helm(['get', 'notes', 'sandlot'])).not.toMatch(/image: (?:busybox|docker\.io)/);
  });
});
