import type { AddedNode } from '../added-node/added-node.ts';
import { addNode } from '../added-node/added-node.ts';
import type { BinaryName } from '../binaries/catalog.ts';
import { ensureBinaries } from '../binaries/ensure.ts';
import { formatPodRegistry, readImageDigest, pushImage } from '../node/registry.ts';
import type { CommandResult } from '../process/exec.ts';
import { exec } from '../process/exec.ts';
import { LocalClusterError } from '../errors.ts';
import type { ClusterMode } from './choices.ts';
import type { ClusterContext } from './control-plane.ts';
import { formatServerUrl } from './control-plane.ts';

/** A running cluster. The handle holds no resources, and the cluster outlives it. */
export interface ClusterHandle {
  readonly mode: ClusterMode;
  /** The checkout the cluster belongs to. */
  readonly root: string;
  /** `<root>/.sandlot`. */
  readonly stateDir: string;
  readonly server: string;
  /** Cluster-admin. */
  readonly kubeconfigPath: string;
  readonly auditLogPath: string;
  /** Plain HTTP, `127.0.0.1:PORT`. Undefined in a simulated cluster, which pulls no images. */
  readonly registry: { readonly host: string; readonly podHost: string } | undefined;
  /** A process on the machine. Only in a simulated cluster. */
  readonly nats: { readonly url: string } | undefined;
  /** A process on the machine. Only in a simulated cluster, and only if redis-server is installed. */
  readonly redis: { readonly url: string } | undefined;
  kubectl(args: readonly string[], input?: string): Promise<CommandResult>;
  helm(args: readonly string[]): Promise<CommandResult>;
  /** Returns the path of a program of ours, built if needed. */
  bin(name: BinaryName): Promise<string>;
  /** Pushes a docker-archive or OCI-layout tar. The node then finds the image under this name, with any registry in it. */
  pushImage(archive: string, name: string): Promise<{ digest: string }>;
  /** Returns the digest of an image in the local registry, or undefined. */
  readImageDigest(name: string): Promise<string | undefined>;
  /** Adds a real node beside the first one, on the same machine, or repairs it. The next `npm run up` removes it. */
  addNode(name: string): Promise<AddedNode>;
}

const toolTimeoutMs = 20 * 60_000;

/** Creates the handle of a cluster whose API server listens on `address`. */
export function createClusterHandle(context: ClusterContext, address: string, hasRedis = false): ClusterHandle {
  const { paths, choices } = context;
  const { mode, ports } = choices;
  const simulated = mode === 'simulated';
  const environment = { env: { KUBECONFIG: paths.kubeconfig }, timeoutMs: toolTimeoutMs };
  const bin = async (name: BinaryName) => (await ensureBinaries([name]))(name);
  const registry = simulated ? undefined : { host: `127.0.0.1:${ports.registry}`, podHost: formatPodRegistry(choices) };
  const accessRegistry = async () => {
    if (registry === undefined) throw new LocalClusterError('COMPONENT_FAILED', 'a simulated cluster has no registry');
    return { host: registry.host, bin: await ensureBinaries(['crane']) };
  };
  return {
    mode,
    root: paths.root,
    stateDir: paths.state,
    server: formatServerUrl(context, address),
    kubeconfigPath: paths.kubeconfig,
    auditLogPath: paths.auditLog,
    registry,
    nats: simulated ? { url: `nats://127.0.0.1:${ports.nats}` } : undefined,
    redis: simulated && hasRedis ? { url: `redis://127.0.0.1:${ports.redis}` } : undefined,
    kubectl: async (args, input) => exec([await bin('kube'), 'kubectl', ...args], { ...environment, input }),
    helm: async (args) => exec([await bin('helm'), ...args], environment),
    bin,
    pushImage: async (archive, name) => pushImage(await accessRegistry(), { archive, name }),
    readImageDigest: async (name) => readImageDigest(await accessRegistry(), name),
    addNode: async (name) => addNode(context, name),
  };
}
