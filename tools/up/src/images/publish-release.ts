import { createConsoleProgress, ensureBinaries, ensurePackages } from '@sandlot/local-cluster';
import { buildImages, bundleServices } from './build.ts';
import { openBuildah } from './buildah.ts';
import { publishImages } from './publish.ts';
import { isOfChart, listImageRecipes, serviceNames } from './recipes.ts';
import { buildChartValues } from '../install/values.ts';
import { observers } from '../observability/install.ts';
import type { ChartValues } from '../install/values.ts';
import { findProgram } from '../target.ts';

/**
 * Builds the images of this checkout's chart, pushes them to the registry of a local cluster that may belong to another checkout,
 * and returns the values with which the chart runs them there. The test of upgrades puts this file into an earlier commit.
 */
async function publishRelease(registryHost: string, apiServer: string): Promise<ChartValues> {
  const progress = createConsoleProgress();
  await ensurePackages(['buildah', 'mmdebstrap', 'busybox-static'], { progress });
  const buildah = await openBuildah();
  await bundleServices();
  // Commits from before egress, template builds or volumes have no recipe for their programs.
  const hasEgress = serviceNames.some((name) => name === 'egress');
  const hasBuilds = serviceNames.some((name) => name === 'template-builder');
  const hasVolumes = serviceNames.some((name) => name === 'volume-controller');
  const programs = [
    ...(['nats-server', 'sandlot-runtime', 'sandlot-node'] as const),
    ...(hasEgress ? (['sandlot-egress'] as const) : []),
    ...(hasBuilds ? (['sandlot-image'] as const) : []),
    ...(hasVolumes ? (['sandlot-volumes'] as const) : []),
  ];
  const bin = await ensureBinaries(programs, { progress });
  const recipes = listImageRecipes({
    natsServer: bin('nats-server'),
    busybox: (await findProgram('busybox')) ?? '/bin/busybox',
    runtime: bin('sandlot-runtime'),
    node: bin('sandlot-node'),
    egress: hasEgress ? bin('sandlot-egress') : '',
    imagePlane: hasBuilds ? bin('sandlot-image') : '',
    volumeServer: hasVolumes ? bin('sandlot-volumes') : '',
  });
  // `helm test` makes a sandbox of busybox.
  const wanted = recipes.filter(({ name }) => isOfChart(name) || name === 'busybox');
  const images = await buildImages(wanted, { buildah, progress });
  await publishImages(images, { buildah, registry: { host: registryHost, path: 'sandlot' }, progress });
  // The node asks the local registry first, whatever the name of the registry.
  return buildChartValues(images, { registry: { host: 'ghcr.io', path: 'sandlot' }, apiServer, observers });
}

const [registryHost, apiServer] = process.argv.slice(2);
if (registryHost === undefined || apiServer === undefined)
  throw new Error('usage: publish-release REGISTRY API_SERVER');
process.stdout.write(`${JSON.stringify(await publishRelease(registryHost, apiServer))}\n`);
