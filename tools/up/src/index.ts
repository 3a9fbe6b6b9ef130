import { createConsoleProgress, destroyCluster, openCluster } from '@sandlot/local-cluster';
import { createNarrator } from './demo/narrate.ts';
import { release } from './install/values.ts';
import { checkoutRoot } from './paths.ts';
import { up } from './up.ts';

export { bundleService } from './bundle.ts';
export { bundleControllers, bundleServices, fillContext } from './images/build.ts';
export { publishInstaller } from './images/installer.ts';
export { isOfChart, listImageRecipes } from './images/recipes.ts';
export type { ImageName, ImageRecipe } from './images/recipes.ts';
export { prometheusUrl, tracesUrl } from './observability/look.ts';
export { observability } from './observability/manifests.ts';
export { checkoutRoot, getCacheDir } from './paths.ts';
export { readEnv } from './tenants/env-file.ts';
export { writeAccess } from './tenants/tenants.ts';

/** Namespace of the Helm release. */
export const releaseNamespace = release.namespace;

/** A cluster with this checkout's chart installed. */
export interface UpCluster {
  /** Cluster-admin. */
  readonly kubeconfigPath: string;
  /** True if this call started the cluster. The caller may then remove it. */
  readonly started: boolean;
}

/**
 * Ensures that the checkout's one real node runs this checkout's images: starts the cluster if needed, and upgrades the
 * release. With `observability` also installs Prometheus and Jaeger. Throws UpError or LocalClusterError.
 */
export async function ensureUp(options: { demo: boolean; observability?: boolean }): Promise<UpCluster> {
  const before = await openCluster({ root: checkoutRoot });
  const choices = { demo: options.demo, observability: options.observability };
  const { target } = await up(
    { simulated: false, kubeconfig: undefined, registry: undefined, nodes: 1, ...choices },
    { progress: createConsoleProgress(), say: createNarrator() },
  );
  return { kubeconfigPath: target.kubeconfigPath, started: before === undefined };
}

/** Removes the checkout's cluster and everything that `up` created. */
export async function tearDown(): Promise<void> {
  await destroyCluster({ root: checkoutRoot, progress: createConsoleProgress() });
}
