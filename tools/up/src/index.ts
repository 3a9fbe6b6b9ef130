import { consoleProgress, destroyCluster, openCluster } from '@sandlot/local-cluster';
import { narrator } from './demo/narrate.ts';
import { release } from './install/values.ts';
import { checkoutRoot } from './paths.ts';
import { up } from './up.ts';

export { bundleControllers } from './images/build.ts';
export { prometheusUrl, tracesUrl } from './observability/look.ts';
export { observability } from './observability/manifests.ts';
export { checkoutRoot } from './paths.ts';
export { readEnv } from './tenants/env-file.ts';

/** Where the chart is installed. */
export const releaseNamespace = release.namespace;

/** A cluster with the chart of this checkout on it. */
export interface UpCluster {
  /** Cluster-admin. */
  readonly kubeconfigPath: string;
  /** Whether this call started it, so that the caller may remove it. */
  readonly raised: boolean;
}

/**
 * The checkout's real node with the checkout's own controllers on it: raised when it is not up, upgraded when it runs
 * other images; with `observability`, Prometheus and Jaeger beside it. Throws UpError or LocalClusterError.
 */
export async function ensureUp(options: { demo: boolean; observability?: boolean }): Promise<UpCluster> {
  const before = await openCluster({ root: checkoutRoot });
  const choices = { demo: options.demo, observability: options.observability };
  const { target } = await up(
    { simulated: false, kubeconfig: undefined, registry: undefined, ...choices },
    { progress: consoleProgress(), say: narrator() },
  );
  return { kubeconfigPath: target.kubeconfigPath, raised: before === undefined };
}

/** Removes the checkout's cluster and everything `up` made. */
export async function tearDown(): Promise<void> {
  await destroyCluster({ root: checkoutRoot, progress: consoleProgress() });
}
