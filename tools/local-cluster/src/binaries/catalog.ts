import { LocalClusterError } from '../errors.ts';

/** How to build one binary: the Go package, the linker flags, and what is changed in a dependency. */
interface Recipe {
  package: string;
  ldflags?: string;
  patch?: Patch;
}

export interface Patch {
  /** The Go module whose source is patched. */
  module: string;
  /** Relative to the folder of the module that requires it. Begins with the reason. */
  file: string;
}

const kubernetesVersion = 'v1.36.3';
const version = 'k8s.io/component-base/version';
const kubernetesLdflags = [
  `-X ${version}.gitVersion=${kubernetesVersion}`,
  `-X ${version}.gitMajor=1`,
  `-X ${version}.gitMinor=36`,
  `-X ${version}.gitTreeState=clean`,
].join(' ');

const clusterRecipes = {
  /** etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy and kubectl. */
  kube: { package: './kube', ldflags: kubernetesLdflags },
  /** Issues certificates. */
  pki: { package: './pki' },
  /** Runs a program that dies with its parent. */
  guard: { package: './guard' },
  /** The program of every pod's first container. */
  pause: { package: './pause' },
  /** Container registry that stores images in a folder. */
  registry: { package: './registry' },
  coredns: { package: './coredns' },
  helm: { package: 'helm.sh/helm/v3/cmd/helm' },
  kwok: { package: 'sigs.k8s.io/kwok/cmd/kwok' },
  /** Prints the stages that kwok plays. */
  'kwok-stages': { package: './kwok-stages' },
  /** Provisions PersistentVolumes as folders. */
  volumes: { package: './volumes' },
  'nats-server': { package: 'github.com/nats-io/nats-server/v2' },
  /** Pushes images to the registry. */
  crane: { package: 'github.com/google/go-containerregistry/cmd/crane' },
  kubeconform: { package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
} as const satisfies Record<string, Recipe>;

const policyRecipes = {
  /** Enforces NetworkPolicies. */
  'network-policy': { package: '.' },
} as const satisfies Record<string, Recipe>;

const etcdRecipes = {
  /** Takes snapshots of etcd. */
  etcdctl: { package: 'go.etcd.io/etcd/etcdctl/v3' },
  /** Makes a data folder of etcd from a snapshot. */
  etcdutl: { package: 'go.etcd.io/etcd/etcdutl/v3' },
} as const satisfies Record<string, Recipe>;

const lintRecipes = {
  /** Looks for mistakes in the objects of the chart. */
  'kube-score': { package: 'github.com/zegl/kube-score/cmd/kube-score' },
} as const satisfies Record<string, Recipe>;

const containerdVersion = 'v2.4.2';
const containerdModule = 'github.com/containerd/containerd/v2';
const containerdLdflags = `-X ${containerdModule}/version.Version=${containerdVersion}`;

const containerdRecipes = {
  containerd: { package: `${containerdModule}/cmd/containerd`, ldflags: containerdLdflags },
  /** The shim through which containerd runs ordinary pods. */
  'containerd-shim-runc-v2': { package: `${containerdModule}/cmd/containerd-shim-runc-v2`, ldflags: containerdLdflags },
} as const satisfies Record<string, Recipe>;

const gvisorVersion = 'v0.0.0-20260905035102-160fafc42237';
/** The format of saved memory is that of gVisor, but a patched program has a version of its own. */
const runscVersion = `${gvisorVersion}+sandlot.1`;

const gvisorRecipes = {
  /** gVisor: the user-space kernel for pods, and the commands that manage such pods. */
  runsc: {
    package: 'gvisor.dev/gvisor/runsc',
    ldflags: `-X gvisor.dev/gvisor/runsc/version.version=${runscVersion}`,
    patch: { module: 'gvisor.dev/gvisor', file: 'patches/runsc-background-loading.patch' },
  },
  /** The shim through which containerd runs gVisor pods. It belongs to the product. */
  'containerd-shim-runsc-v1': { package: '.' },
} as const satisfies Record<string, Recipe>;

const jaegerRecipes = {
  /** Receives traces over OTLP, keeps them in memory and answers queries. Jaeger 2 ships in the modules of 1.76. */
  jaeger: { package: 'github.com/jaegertracing/jaeger/cmd/jaeger' },
} as const satisfies Record<string, Recipe>;

const lokiRecipes = {
  /** Keeps logs and answers queries. Loki 1.6 is the last one of these modules under the Apache License. */
  loki: { package: 'github.com/grafana/loki/cmd/loki' },
  /** Ships files to it. */
  promtail: { package: 'github.com/grafana/loki/cmd/promtail' },
} as const satisfies Record<string, Recipe>;

const agentSandboxRecipes = {
  /** The controller of agent-sandbox, from which Sandlot takes over and to which it hands back. */
  'agent-sandbox-controller': { package: 'sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller' },
  /** Uses the client for Go of agent-sandbox, for a test of it. */
  'agent-sandbox-client': { package: './client' },
} as const satisfies Record<string, Recipe>;

const runtimeRecipes = {
  /** The daemon inside a sandbox. */
  'sandlot-runtime': { package: './cmd/sandlot-runtime' },
} as const satisfies Record<string, Recipe>;

const nodeRecipes = {
  /** The agent of a node, which saves sandboxes with their memory. */
  'sandlot-node': { package: './cmd/sandlot-node' },
  /** Puts gVisor and its shim on a node. */
  'sandlot-node-installer': { package: './cmd/sandlot-node-installer' },
} as const satisfies Record<string, Recipe>;

const egressRecipes = {
  /** The data plane of egress by name. */
  'sandlot-egress': { package: './cmd/sandlot-egress' },
} as const satisfies Record<string, Recipe>;

const builderRecipes = {
  /** The image plane of template builds. */
  'sandlot-image': { package: './cmd/sandlot-image' },
} as const satisfies Record<string, Recipe>;

const volumesRecipes = {
  /** The file server of volumes. */
  'sandlot-volumes': { package: './cmd/sandlot-volumes' },
} as const satisfies Record<string, Recipe>;

/** A program built from one of the Go modules. */
export type BinaryName =
  | keyof typeof clusterRecipes
  | keyof typeof policyRecipes
  | keyof typeof etcdRecipes
  | keyof typeof lintRecipes
  | keyof typeof containerdRecipes
  | keyof typeof gvisorRecipes
  | keyof typeof jaegerRecipes
  | keyof typeof lokiRecipes
  | keyof typeof agentSandboxRecipes
  | keyof typeof runtimeRecipes
  | keyof typeof nodeRecipes
  | keyof typeof egressRecipes
  | keyof typeof builderRecipes
  | keyof typeof volumesRecipes;

/** A folder with a go.mod and the binaries built from it. Each module has its own cache folder. */
export interface GoModule {
  /** Relative to the package's folder. */
  folder: string;
  /** Folders of our modules that it imports: a change of them builds its binaries anew. */
  imports?: readonly string[];
  recipes: Readonly<Partial<Record<BinaryName, Recipe>>>;
}

/**
 * Every Go module. containerd, gVisor, Jaeger, Loki and agent-sandbox have modules of their own because their dependencies conflict with those of
 * Kubernetes. The policy enforcer, etcd's tools and kube-score have their own so that changing them rebuilds nothing else. The daemon, gVisor's
 * shim, the agent, the data plane of egress, the image plane and the file server of volumes belong to the product and live outside this package.
 */
export const goModules: readonly GoModule[] = [
  { folder: 'go', recipes: clusterRecipes },
  { folder: 'go-policy', recipes: policyRecipes },
  { folder: 'go-etcd', recipes: etcdRecipes },
  { folder: 'go-lint', recipes: lintRecipes },
  { folder: 'go-containerd', recipes: containerdRecipes },
  { folder: '../../node/shim', recipes: gvisorRecipes },
  { folder: 'go-jaeger', recipes: jaegerRecipes },
  { folder: 'go-loki', recipes: lokiRecipes },
  { folder: 'go-agent-sandbox', recipes: agentSandboxRecipes },
  { folder: '../../runtime', recipes: runtimeRecipes },
  { folder: '../../node', recipes: nodeRecipes },
  { folder: '../../egress', recipes: egressRecipes },
  { folder: '../../builder', imports: ['../../egress'], recipes: builderRecipes },
  { folder: '../../volumes', recipes: volumesRecipes },
];

/** Returns the module and the recipe of a binary. */
export function buildRecipe(name: BinaryName): { module: GoModule; recipe: Recipe } {
  for (const module of goModules) {
    const recipe = module.recipes[name];
    if (recipe !== undefined) return { module, recipe };
  }
  throw new LocalClusterError('BUILD_FAILED', `no module has a recipe for ${name}`);
}
