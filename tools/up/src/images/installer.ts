import { createConsoleProgress, ensureBinaries, ensurePackages } from '@sandlot/local-cluster';
import type { ClusterHandle } from '@sandlot/local-cluster';
import { buildImages } from './build.ts';
import { openBuildah } from './buildah.ts';
import { publishImages } from './publish.ts';
import { buildInstallerRecipe } from './recipes.ts';

/**
 * Builds the image that installs gVisor on nodes, which the local cluster does without, and pushes it to its registry. Returns the
 * tag.
 */
export async function publishInstaller(cluster: ClusterHandle): Promise<string> {
  const progress = createConsoleProgress();
  await ensurePackages(['buildah', 'mmdebstrap'], { progress });
  const buildah = await openBuildah();
  const bin = await ensureBinaries(['sandlot-node-installer', 'runsc', 'containerd-shim-runsc-v1'], { progress });
  const recipe = buildInstallerRecipe({
    installer: bin('sandlot-node-installer'),
    runsc: bin('runsc'),
    shim: bin('containerd-shim-runsc-v1'),
  });
  const images = await buildImages([recipe], { buildah, progress });
  const registry = { host: cluster.registry?.host ?? '', path: 'sandlot' };
  await publishImages(images, { buildah, registry, progress });
  return images[0]?.tag ?? '';
}
