import { dnsServiceIp, gvisorPlaces } from '@sandlot/local-cluster';
import type { BuiltImage } from '../images/build.ts';
import type { Registry } from '../images/publish.ts';
import type { ImageName } from '../images/recipes.ts';

/**
 * Ports of sandboxes are `<port>-<id>` below this domain. No DNS server resolves it: clients map it to the gateway
 * themselves, or send it in the Host header.
 */
export const sandboxDomain = 'sandlot.test';

/** Name and namespace of the Helm release. */
export const release = { name: 'sandlot', namespace: 'sandlot-system' } as const;

/** The namespace that the chart creates for API keys. */
export const keysNamespace = `${release.namespace}-keys`;

interface ForeignImage {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
}

/** The values that differ from the chart's defaults. */
export interface ChartValues {
  readonly image: { readonly registry: string; readonly repository: string };
  readonly sandboxController: { readonly image: { readonly tag: string } };
  readonly warmpoolController: { readonly image: { readonly tag: string } };
  readonly claimController: {
    readonly image: { readonly tag: string };
    readonly envsFromSecrets: boolean;
    readonly persistentVolumes: boolean;
  };
  readonly runtime: { readonly image: { readonly tag: string }; readonly delivery?: 'ImageVolume' };
  readonly snapshotController: { readonly image: { readonly tag: string } };
  readonly hibernation: {
    readonly enabled?: true;
    readonly disks?: { readonly method: 'Clone' };
    readonly node: { readonly image: { readonly tag: string }; readonly podAnnotations?: object } & Partial<NodePlaces>;
    readonly installer?: { readonly image: { readonly tag: string } };
  };
  readonly keyKeeper: { readonly image: { readonly tag: string } };
  readonly egress: {
    readonly enabled?: true;
    readonly replicas?: number;
    readonly resolvers?: readonly string[];
    readonly credentials?: { readonly enabled: true };
    readonly upstreamCA?: { readonly secret: string };
    readonly image: { readonly tag: string };
    readonly proxyImage: { readonly tag: string };
  };
  readonly volumeController: { readonly image: { readonly tag: string } };
  readonly volumes: {
    readonly storageClass?: string;
    readonly server: { readonly image: { readonly tag: string } };
  };
  readonly builds: BuildValues;
  readonly webhooks: WebhookValues;
  readonly api: { readonly image: { readonly tag: string } };
  readonly gateway: {
    readonly image: { readonly tag: string };
    readonly domains: readonly string[];
    readonly agentSandbox: { readonly auth: 'any'; readonly router: { readonly enabled: boolean } };
  };
  readonly nats: { readonly image: ForeignImage; readonly streams: { readonly image: { readonly tag: string } } };
  readonly redis: { readonly image: ForeignImage };
  readonly extraObjects?: readonly object[];
  /** The sandbox of `helm test`. */
  readonly tests?: { readonly image: ForeignImage };
  readonly networkPolicy?: {
    readonly apiServer?: { readonly ports: readonly number[] };
    readonly scrapers?: readonly object[];
  };
  readonly tracing?: { readonly endpoint: string; readonly sampleRatio: number };
}

interface WebhookValues {
  readonly enabled?: true;
  readonly privateAddresses?: readonly string[];
  readonly ports?: readonly number[];
  readonly image: { readonly tag: string };
}

interface BuildValues {
  readonly enabled?: true;
  readonly registry?: { readonly name: string; readonly caSecret?: string };
  readonly plainHTTP?: readonly string[];
  readonly baseImages?: Readonly<Record<string, string>>;
  readonly template?: object;
  readonly images?: { readonly graceSeconds: number };
  readonly image: { readonly tag: string };
  readonly planeImage: { readonly tag: string };
}

type NodePlaces = typeof gvisorPlaces;

/** Who scrapes the services, and where they send traces. */
export interface Observers {
  /** Namespace of the scraper, by its label `kubernetes.io/metadata.name`. */
  readonly scraper: string;
  /** Base URL of an OTLP/HTTP receiver. */
  readonly traces: string;
}

/** The chart samples fewer traces by default, for clusters with many claims. */
const EVERY_TRACE = 1;

/** What the chart finds where it is installed. */
export interface Surroundings {
  readonly registry: Registry;
  /** URL of the local cluster's API server. Absent: the cluster is a user's. */
  readonly apiServer?: string | undefined;
  /** Certificate in PEM of an authority whose servers the egress proxy trusts. */
  readonly upstreamCA?: string | undefined;
  /** Host of the local cluster's registry as Pods reach it, which then gets the images of builds. */
  readonly buildRegistry?: string | undefined;
  /** {@link readGvisorBuild} of the local cluster. */
  readonly gvisorBuild?: string | undefined;
  readonly observers?: Observers | undefined;
}

const UPSTREAM_CA = 'sandlot-egress-upstreams';

function buildUpstreamSecret(certificate: string): object {
  const { namespace } = release;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: UPSTREAM_CA, namespace },
    stringData: { 'ca.crt': certificate },
  };
}

/** One machine has no use for two replicas. */
function buildEgressValues(
  controller: (name: ImageName) => { image: { tag: string } },
  { isLocal, upstreamCA }: { readonly isLocal: boolean; readonly upstreamCA: string | undefined },
): ChartValues['egress'] {
  return {
    ...controller('egress'),
    proxyImage: controller('egress-proxy').image,
    ...(isLocal ? { enabled: true, replicas: 1, resolvers: [dnsServiceIp], credentials: { enabled: true } } : {}),
    ...(upstreamCA === undefined ? {} : { upstreamCA: { secret: UPSTREAM_CA } }),
  };
}

/** What the templates of the local cluster have, too. */
const buildTemplate = {
  suspensionStrategy: { type: 'Hibernate', hibernate: { onFailure: 'KeepRunning' } },
  podTemplate: { spec: { runtimeClassName: 'gvisor', terminationGracePeriodSeconds: 1 } },
};

function buildBuildValues(
  getTag: (name: ImageName) => string,
  { buildRegistry: host, upstreamCA }: Pick<Surroundings, 'buildRegistry' | 'upstreamCA'>,
): BuildValues {
  const images = { image: { tag: getTag('template-builder') }, planeImage: { tag: getTag('image-plane') } };
  if (host === undefined) return images;
  const base = `${host}/sandlot/sandbox-base:${getTag('sandbox-base')}`;
  const interpreter = `${host}/sandlot/code-interpreter:${getTag('code-interpreter')}`;
  return {
    ...images,
    enabled: true,
    registry: { name: `${host}/builds`, ...(upstreamCA === undefined ? {} : { caSecret: UPSTREAM_CA }) },
    plainHTTP: [host],
    baseImages: { 'e2bdev/base': base, base, 'code-interpreter-v1': interpreter },
    template: buildTemplate,
    // The shortest, so that tests see images go.
    images: { graceSeconds: 10 },
  };
}

/** The port at which tests and users receive webhooks on this machine. */
const WEBHOOK_PORT = 18_088;

/** In the local cluster webhooks may reach this machine, under the address at which Pods find its registry. */
function buildWebhookValues(own: { image: { tag: string } }, podHost: string | undefined): WebhookValues {
  if (podHost === undefined) return own;
  const address = podHost.replace(/:\d+$/, '');
  return { ...own, enabled: true, privateAddresses: [`${address}/32`], ports: [80, 443, WEBHOOK_PORT] };
}

/** Returns the values with which the chart runs these images, NATS and Redis included, from this registry. */
export function buildChartValues(
  images: readonly BuiltImage[],
  { registry, apiServer, gvisorBuild, observers, upstreamCA, buildRegistry }: Surroundings,
): ChartValues {
  const getTag = (name: ImageName): string => images.find((image) => image.name === name)?.tag ?? 'missing';
  const controller = (name: ImageName): { image: { tag: string } } => ({ image: { tag: getTag(name) } });
  const foreign = (name: ImageName): { image: ForeignImage } => ({
    image: {
      registry: registry.host,
      repository: [registry.path, name].filter((part) => part !== '').join('/'),
      tag: getTag(name),
    },
  });
  // The local cluster's nodes mount images and run gVisor with our shim; those of a user's cluster perhaps not.
  const isLocal = apiServer !== undefined;
  const port = apiServer === undefined ? '' : new URL(apiServer).port;
  return {
    image: { registry: registry.host, repository: registry.path },
    sandboxController: controller('sandbox-controller'),
    warmpoolController: controller('warmpool-controller'),
    claimController: { ...controller('claim-controller'), envsFromSecrets: true, persistentVolumes: true },
    runtime: { ...controller('runtime'), ...(isLocal ? { delivery: 'ImageVolume' as const } : {}) },
    snapshotController: controller('snapshot-controller'),
    hibernation: buildHibernationValues(controller, { isLocal, gvisorBuild }),
    keyKeeper: controller('key-keeper'),
    egress: buildEgressValues(controller, { isLocal, upstreamCA }),
    volumeController: controller('volume-controller'),
    // The folders of the local cluster can be mounted any number of times, on its one node.
    volumes: { server: controller('volume-server'), ...(isLocal ? { storageClass: 'standard' } : {}) },
    builds: buildBuildValues(getTag, { buildRegistry, upstreamCA }),
    webhooks: buildWebhookValues(controller('webhooks'), buildRegistry),
    api: controller('api'),
    gateway: {
      ...controller('gateway'),
      domains: [sandboxDomain],
      agentSandbox: { auth: 'any', router: { enabled: true } },
    },
    nats: { ...foreign('nats'), streams: controller('streams') },
    redis: foreign('redis'),
    ...(isLocal ? { tests: foreign('busybox') } : {}),
    ...(upstreamCA === undefined ? {} : { extraObjects: [buildUpstreamSecret(upstreamCA)] }),
    ...(port === '' && observers === undefined
      ? {}
      : { networkPolicy: buildNetworkPolicyValues(port, observers?.scraper) }),
    ...(observers === undefined ? {} : { tracing: { endpoint: observers.traces, sampleRatio: EVERY_TRACE } }),
  };
}

function buildHibernationValues(
  controller: (name: ImageName) => { image: { tag: string } },
  { isLocal, gvisorBuild }: { readonly isLocal: boolean; readonly gvisorBuild: string | undefined },
): ChartValues['hibernation'] {
  const node = controller('node');
  if (!isLocal) return { node, installer: controller('node-installer') };
  // A Pod keeps the runsc that it mounted at its start, so another build needs another Pod.
  const changes = gvisorBuild === undefined ? {} : { podAnnotations: { 'checksum/runsc': gvisorBuild } };
  return { enabled: true, disks: { method: 'Clone' }, node: { ...node, ...gvisorPlaces, ...changes } };
}

function buildNetworkPolicyValues(
  apiServerPort: string,
  scraper: string | undefined,
): NonNullable<ChartValues['networkPolicy']> {
  const peer = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': scraper } } };
  return {
    ...(apiServerPort === '' ? {} : { apiServer: { ports: [443, 6443, Number(apiServerPort)] } }),
    ...(scraper === undefined ? {} : { scrapers: [peer] }),
  };
}
