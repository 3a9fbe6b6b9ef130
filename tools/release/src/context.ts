import { mkdir, readdir } from 'node:fs/promises';
import { createConsoleProgress, ensureBinaries } from '@sandlot/local-cluster';
import { bundleServices, fillContext, listImageRecipes } from '@sandlot/up';
import { listReleaseImages } from './images.ts';

const PROGRAMS = [
  'sandlot-runtime',
  'sandlot-node',
  'sandlot-node-installer',
  'sandlot-egress',
  'sandlot-image',
  'sandlot-volumes',
  'runsc',
  'containerd-shim-runsc-v1',
] as const;

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
  const bin = await ensureBinaries(PROGRAMS, { progress: createConsoleProgress() });
  const installer = {
    installer: bin('sandlot-node-installer'),
    runsc: bin('runsc'),
    shim: bin('containerd-shim-runsc-v1'),
  };
  const [runtime, node] = [bin('sandlot-runtime'), bin('sandlot-node')];
  const [egress, imagePlane] = [bin('sandlot-egress'), bin('sandlot-image')];
  const volumeServer = bin('sandlot-volumes');
  const programs = { natsServer: '', busybox: '', runtime, node, egress, imagePlane, volumeServer, installer };
  const recipe = listImageRecipes(programs).find((found) => found.name === name);
  if (recipe !== undefined) await fillContext(recipe, folder);
  return image.dockerfile;
}
