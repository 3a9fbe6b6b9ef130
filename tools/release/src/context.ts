import { mkdir, readdir } from 'node:fs/promises';
import { createConsoleProgress, ensureBinaries } from '@sandlot/local-cluster';
import { bundleServices, fillContext, listImageRecipes } from '@sandlot/up';
import { listReleaseImages } from './images.ts';

/**
 * Stages the build context of one image, for this machine's architecture, in a folder that must be empty or absent. Returns the
 * Dockerfile. Bundles the services and compiles the programs on the way.
 */
export async function stageContext(name: string, folder: string): Promise<string> {
  const image = listReleaseImages()
    .flat()
    .find((found) => found.name === name);
  if (image === undefined) throw new Error(`no image of the release is called "${name}"`);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty: name a folder that is`);
  await bundleServices();
  const bin = await ensureBinaries(['sandlot-runtime', 'sandlot-node'], { progress: createConsoleProgress() });
  const programs = { natsServer: '', busybox: '', runtime: bin('sandlot-runtime'), node: bin('sandlot-node') };
  const recipe = listImageRecipes(programs).find((found) => found.name === name);
  if (recipe !== undefined) await fillContext(recipe, folder);
  return image.dockerfile;
}
