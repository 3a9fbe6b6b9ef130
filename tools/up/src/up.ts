import { mkdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  createCluster,
  ensureBinaries,
  ensurePackages,
  getClusterPaths,
  issueCertificates,
  readGvisorBuild,
} from '@sandlot/local-cluster';
import type { ClusterHandle, Progress } from '@sandlot/local-cluster';
import type { UpOptions } from './arguments.ts';
import type { DemoResult } from './demo/demo.ts';
import { runDemo } from './demo/demo.ts';
import type { Say } from './demo/narrate.ts';
import { UpError } from './errors.ts';
import { buildImages, bundleServices } from './images/build.ts';
import type { BuiltImage } from './images/build.ts';
import type { Buildah } from './images/buildah.ts';
import { openBuildah } from './images/buildah.ts';
import { formatImage, parseRegistry, publishImages, publishStandIns } from './images/publish.ts';
import type { Registry } from './images/publish.ts';
import { listImageRecipes, isOfChart } from './images/recipes.ts';
import { installChart } from './install/install.ts';
import { buildChartValues } from './install/values.ts';
import { hasObservability, installObservability, observers, removeObservability } from './observability/install.ts';
import { checkoutRoot } from './paths.ts';
import { requireRealNode } from './preflight.ts';
import { startSimulated, requireNoComponent } from './simulated/simulated.ts';
import { openExternalTarget, findProgram, createLocalTarget } from './target.ts';
import type { Target } from './target.ts';
import { prepareTenants } from './tenants/tenants.ts';

/** Result of `up`. */
export interface UpResult {
  readonly target: Target;
  /** Empty if `up` built no images. */
  readonly images: readonly BuiltImage[];
  readonly demo: DemoResult | undefined;
  /** Path of the multi-call binary, which includes kubectl, if it was built. */
  readonly kube: string | undefined;
  /** Whether Prometheus and Jaeger are installed. */
  readonly observed: boolean;
}

export interface UpContext {
  readonly progress: Progress;
  readonly say: Say;
}

/** Starts or repairs the cluster, installs Sandlot and runs the demonstration. Throws UpError or LocalClusterError. */
export async function up(options: UpOptions, context: UpContext): Promise<UpResult> {
  if (options.simulated) return installOnSimulated(options, context);
  if (options.kubeconfig !== undefined) return installOnExternal(options.kubeconfig, options, context);
  return installOnNode(options, context);
}

async function installOnNode(options: UpOptions, context: UpContext): Promise<UpResult> {
  const { progress } = context;
  await requireRealNode();
  await requireNoComponent('kwok', 'a simulated cluster');
  const names = listAddedNodes(options.nodes);
  const starting = createCluster({ root: checkoutRoot, keepNodes: names, progress });
  const observing = options.observability ?? starting.then((cluster) => hasObservability(createLocalTarget(cluster)));
  // The cluster starts and the images are built at the same time.
  const building = Promise.resolve(observing).then((observability) => buildAll(progress, { observability }));
  const [cluster, observed, built] = await Promise.all([starting, observing, building]);
  const target = createLocalTarget(cluster);
  await installAll(cluster, { built, observed, progress });
  await addNodes(cluster, { names, progress });
  const demo = options.demo ? await runDemo({ ...context, target, image: 'busybox' }) : undefined;
  return { target, images: built.images, demo, kube: await cluster.bin('kube'), observed };
}

/** Returns the names of the nodes beside the first one. */
function listAddedNodes(nodes: number): string[] {
  return Array.from({ length: nodes - 1 }, (_, index) => `sandlot-${index + 2}`);
}

/**
 * Adds the nodes when the chart is installed: the disks of NATS and Redis belong to the node that they start on, and only the first
 * one stays.
 */
async function addNodes(
  cluster: ClusterHandle,
  { names, progress }: { names: readonly string[]; progress: Progress },
): Promise<void> {
  for (const name of names) {
    const step = progress.startStep(`Adding the node ${name}`);
    try {
      await cluster.addNode(name);
    } catch (error) {
      step.fail();
      throw error;
    }
    step.finish();
  }
}

interface Installation {
  readonly built: BuiltImages;
  /** Whether to install Prometheus and Jaeger. */
  readonly observed: boolean;
  readonly progress: Progress;
}

/** Publishes the images, and installs the chart, its observers and the tenants, each as soon as its images are there. */
async function installAll(cluster: ClusterHandle, { built, observed, progress }: Installation): Promise<void> {
  const { buildah, images } = built;
  const target = createLocalTarget(cluster);
  // Images are named after ghcr.io below: the node asks the local registry first, whatever the name.
  const registry = { host: cluster.registry?.host ?? '', path: 'sandlot' };
  const named = { host: 'ghcr.io', path: 'sandlot' };
  const publish = (wanted: readonly BuiltImage[]) => publishImages(wanted, { buildah, registry, progress });
  const publishOthers = async (): Promise<void> => {
    await publish(images.filter(({ name }) => !isOfChart(name)));
    await publishStandIns(images, { registry, crane: await cluster.bin('crane'), progress });
  };
  const apiServer = cluster.server;
  const gvisorBuild = await readGvisorBuild();
  const upstreamCA = await makeUpstreamAuthority(await cluster.bin('pki'));
  const surroundings = {
    registry: named,
    apiServer,
    gvisorBuild,
    upstreamCA,
    buildRegistry: cluster.registry?.podHost,
    observers: observed ? observers : undefined,
  };
  const values = buildChartValues(images, surroundings);
  await publish(images.filter(({ name }) => isOfChart(name)));
  await Promise.all([installChart(target, values, progress), publishOthers()]);
  await Promise.all([
    observed
      ? installObservability(target, { images, registry: named, progress })
      : removeObservability(target, progress),
    prepareTenants(target, { images, registry: named, progress }),
  ]);
}

/** Makes the authority of servers on this machine if it does not exist, and returns its certificate in PEM. */
async function makeUpstreamAuthority(pki: string): Promise<string> {
  const { upstreams: dir } = getClusterPaths(checkoutRoot);
  await mkdir(dir, { recursive: true });
  await issueCertificates(pki, { dir, certificates: [] });
  return readFile(join(dir, 'ca.crt'), 'utf8');
}

async function installOnExternal(file: string, options: UpOptions, context: UpContext): Promise<UpResult> {
  const { progress } = context;
  const kubeconfig = resolve(file);
  await stat(kubeconfig).catch(() => {
    throw new UpError({ step: 'Reading the kubeconfig', problem: `there is no file ${kubeconfig}` });
  });
  const target = await openExternalTarget(kubeconfig, progress);
  await requireReachable(target);
  const pushed =
    options.registry === undefined ? undefined : await buildAndPush(parseRegistry(options.registry), progress);
  await installChart(target, pushed?.values, progress);
  const image = pushed?.sandboxImage ?? 'busybox';
  const demo = options.demo ? await runDemo({ ...context, target, image }) : undefined;
  return {
    target,
    images: pushed?.images ?? [],
    demo,
    kube: (await ensureBinaries(['kube']))('kube'),
    observed: false,
  };
}

async function requireReachable(target: Target): Promise<void> {
  const { code, stderr } = await target.kubectl(['version', '--request-timeout=15s']);
  if (code === 0) return;
  throw new UpError({
    step: 'Reaching the cluster',
    problem: `cannot reach the cluster of ${target.kubeconfigPath}`,
    details: stderr,
  });
}

async function buildAndPush(
  registry: Registry,
  progress: Progress,
): Promise<{ images: readonly BuiltImage[]; values: ReturnType<typeof buildChartValues>; sandboxImage: string }> {
  if (process.getuid?.() !== 0) {
    throw new UpError({
      step: 'Building images',
      problem: 'building images needs root',
      advice: 'Run it as root, or leave --registry out to use published images.',
    });
  }
  const { buildah, images } = await buildAll(progress, { observability: false, installer: true });
  await publishImages(images, { buildah, registry, progress });
  const tag = images.find(({ name }) => name === 'busybox')?.tag ?? 'latest';
  return {
    images,
    values: buildChartValues(images, { registry }),
    sandboxImage: formatImage(registry, { name: 'busybox', tag }),
  };
}

async function prepareBuilds(progress: Progress): Promise<Buildah> {
  await ensurePackages(['buildah', 'mmdebstrap', 'busybox-static'], { progress });
  return openBuildah();
}

/** The images of this checkout, and the store that has them. */
interface BuiltImages {
  readonly buildah: Buildah;
  readonly images: readonly BuiltImage[];
}

interface WantedImages {
  readonly observability: boolean;
  /** Whether to build the image that installs gVisor on nodes. */
  readonly installer?: boolean;
}

async function buildAll(progress: Progress, { observability, installer = false }: WantedImages): Promise<BuiltImages> {
  const buildah = await prepareBuilds(progress);
  await bundleServices();
  const programs = [
    ...([
      'nats-server',
      'sandlot-runtime',
      'sandlot-node',
      'sandlot-egress',
      'sandlot-image',
      'sandlot-volumes',
    ] as const),
    ...(installer ? (['sandlot-node-installer', 'runsc', 'containerd-shim-runsc-v1'] as const) : []),
    ...(observability ? (['jaeger'] as const) : []),
  ];
  const bin = await ensureBinaries(programs, { progress });
  const busybox = (await findProgram('busybox')) ?? '/bin/busybox';
  const jaeger = observability ? bin('jaeger') : undefined;
  const [natsServer, runtime] = [bin('nats-server'), bin('sandlot-runtime')];
  const [node, egress] = [bin('sandlot-node'), bin('sandlot-egress')];
  const [imagePlane, volumeServer] = [bin('sandlot-image'), bin('sandlot-volumes')];
  const gvisor = installer
    ? { installer: bin('sandlot-node-installer'), runsc: bin('runsc'), shim: bin('containerd-shim-runsc-v1') }
    : undefined;
  const recipes = listImageRecipes({
    natsServer,
    busybox,
    runtime,
    node,
    egress,
    imagePlane,
    volumeServer,
    installer: gvisor,
    jaeger,
  });
  return { buildah, images: await buildImages(recipes, { buildah, progress }) };
}

async function installOnSimulated(options: UpOptions, context: UpContext): Promise<UpResult> {
  const { target, kube } = await startSimulated(context.progress);
  const demo = options.demo ? await runDemo({ ...context, target, image: 'busybox' }) : undefined;
  return { target, images: [], demo, kube, observed: false };
}
