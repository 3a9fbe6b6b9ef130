/** How one binary is built: the Go package, and what the linker is told. */
interface Recipe {
  package: string;
  ldflags?: string;
}

const kubernetesVersion = 'v1.36.3';
const version = 'k8s.io/component-base/version';
const kubernetesLdflags = [
  `-X ${version}.gitVersion=${kubernetesVersion}`,
  `-X ${version}.gitMajor=1`,
  `-X ${version}.gitMinor=36`,
  `-X ${version}.gitTreeState=clean`,
].join(' ');

const recipes = {
  /** etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet, kube-proxy and kubectl. */
  kube: { package: './kube', ldflags: kubernetesLdflags },
  /** Issues certificates. */
  pki: { package: './pki' },
  /** Ties a process's life to its parent's. */
  guard: { package: './guard' },
  /** The program of every pod's first container. */
  pause: { package: './pause' },
  /** Container registry on a folder. */
  registry: { package: './registry' },
  coredns: { package: './coredns' },
  helm: { package: 'helm.sh/helm/v3/cmd/helm' },
  kwok: { package: 'sigs.k8s.io/kwok/cmd/kwok' },
  /** Prints the stages kwok plays. */
  'kwok-stages': { package: './kwok-stages' },
  /** Makes PersistentVolumes out of folders. */
  volumes: { package: './volumes' },
  'nats-server': { package: 'github.com/nats-io/nats-server/v2' },
  /** Pushes images to the registry. */
  crane: { package: 'github.com/google/go-containerregistry/cmd/crane' },
  kubeconform: { package: 'github.com/yannh/kubeconform/cmd/kubeconform' },
} as const satisfies Record<string, Recipe>;

/** A program built from this package's Go module. */
export type BinaryName = keyof typeof recipes;

/** The recipe of a binary. */
export function recipeOf(name: BinaryName): Recipe {
  return recipes[name];
}

/** Every recipe as text: part of the cache key. */
export const recipesFingerprint = JSON.stringify(recipes);
