import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries } from '@sandlot/local-cluster';
import { runKubectlOrFail } from '../kubectl.ts';
import { findCluster } from '../nodes/second-node.ts';
import { TENANT } from '../sdk/objects.ts';

const run = promisify(execFile);

/** One layer on another image. */
export interface Image {
  readonly base: string;
  readonly name: string;
  /** Default: that of the base. */
  readonly entrypoint?: string;
  readonly flags?: readonly string[];
  /** Writes the files of the layer into a folder, which is the root. */
  readonly fill: (root: string) => Promise<void>;
}

/** The host of the local registry, which stands for all others. */
export async function findRegistry(): Promise<string> {
  return (await findCluster()).registry?.host ?? '';
}

/** The image with Python that the template `base` of the first tenant names, in the local registry. */
export async function findSandboxBase(): Promise<string> {
  const image = await runKubectlOrFail([
    ...['--namespace', TENANT, 'get', 'sandboxtemplate', 'base'],
    ...['--output', 'jsonpath={.spec.podTemplate.spec.containers[0].image}'],
  ]);
  return image.replace(/^[^/]+/, await findRegistry());
}

/** Builds an image and puts it into the registry that its name says. */
export async function publishImage({ base, name, entrypoint, flags = [], fill }: Image): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'sandlot-image-'));
  const [root, layer] = [join(folder.path, 'root'), join(folder.path, 'layer.tar.gz')];
  await mkdir(root);
  await fill(root);
  // crane's own compression takes three times as long.
  const pack = ['--create', '--use-compress-program', 'gzip -1', '--file', layer];
  await run('tar', [...pack, '--directory', root, '--owner=0', '--group=0', '.']);
  const crane = (await ensureBinaries(['crane']))('crane');
  await run(crane, ['append', '--insecure', '--base', base, '--new_layer', layer, '--new_tag', name]);
  if (entrypoint === undefined) return;
  await run(crane, ['mutate', '--insecure', '--entrypoint', entrypoint, ...flags, '--tag', name, name]);
}

/** Unpacks the packages of all wheels of a folder into another one. */
export async function unpackWheels(wheels: string, packages: string): Promise<void> {
  for (const name of await readdir(wheels)) {
    await run('python3', ['-m', 'zipfile', '--extract', join(wheels, name), packages]);
  }
}
