import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { checkoutRoot } from '@sandlot/up';
import { runKubectlOrFail } from '../kubectl.ts';
import { helm } from '../nodes/release.ts';
import { findCluster } from '../nodes/second-node.ts';
import type { Release } from './previous.ts';

const run = promisify(execFile);

/** The path in the local registry that stands for another registry. */
export const MIRROR_PATH = 'mirror';

/** What docs/operations/releases.md#install-without-internet says. */
export interface Commands {
  /** The name of an image in the registry without internet. */
  readonly getCopyName: (image: string) => string;
  /** Of `helm upgrade --install`. */
  readonly flags: readonly string[];
}

export async function readCommands(): Promise<Commands> {
  const text = await readFile(join(checkoutRoot, 'docs/operations/releases.md'), 'utf8');
  const [, section = ''] = /^## Install without internet$([^]*?)^## /m.exec(text) ?? [];
  const [, copy = ''] = /crane copy "\$image" "(\S+)"/.exec(section) ?? [];
  const flags = [...section.matchAll(/--set (\S+)/g)].flatMap(([, set = '']) => ['--set', set]);
  if (!copy.endsWith('/${image##*/}') || flags.length === 0)
    throw new Error(`the page has other commands:\n${section}`);
  return { flags, getCopyName: (image) => copy.replace('${image##*/}', image.slice(image.lastIndexOf('/') + 1)) };
}

/** What `image-list` prints. */
export async function listImages(): Promise<readonly string[]> {
  const { stdout } = await run(process.execPath, [join(checkoutRoot, 'tools/release/src/main.ts'), 'image-list']);
  return stdout.trim().split('\n');
}

/**
 * Copies images of the list, those that the local cluster has, to their names in the registry without internet. Resolves with the
 * digests by these names. The release must be installed: it says under which tags the local registry has them.
 */
export async function copyImages(
  images: readonly string[],
  { getCopyName }: Commands,
): Promise<ReadonlyMap<string, string>> {
  const cluster = await findCluster();
  const address = cluster.registry?.host ?? '';
  const local = await findLocalImages();
  const crane = await cluster.bin('crane');
  const copied = new Map<string, string>();
  for (const image of images) {
    const source = local.get(getName(image));
    if (source === undefined) continue;
    const name = getCopyName(image);
    const target = `${address}/${MIRROR_PATH}${name.slice(name.indexOf('/'))}`;
    await run(crane, ['copy', '--insecure', `${address}/${source}`, target]);
    copied.set(name, (await run(crane, ['digest', '--insecure', target])).stdout.trim());
  }
  return copied;
}

const getName = (image: string): string => /([^/:]+):[^/]+$/.exec(image)?.[1] ?? '';

/** The images of the release and of the tenants' templates in the local registry, by their last name: `sandlot/api:1f2e`. */
async function findLocalImages(): Promise<ReadonlyMap<string, string>> {
  const release = await helm(['get', 'all', 'sandlot']);
  const templates = await runKubectlOrFail(['get', 'sandboxtemplates', '--namespace', 'tenant-a', '--output', 'yaml']);
  const found = `${release}${templates}`.matchAll(/ghcr\.io\/(sandlot\/([a-z-]+):[0-9a-f]+)/g);
  return new Map([...found].map(([, path = '', name = '']) => [name, path]));
}

/** The archive of the chart in a folder, with the values of a release but those that name images. */
export async function packageChart({ chart, values }: Release, folder: string): Promise<Release> {
  const printed = await helm(['package', chart, '--destination', folder]);
  const archive = /saved it to: (\S+)/.exec(printed)?.[1] ?? '';
  return {
    chart: archive,
    values: JSON.stringify(JSON.parse(values), (key, value: unknown) =>
      key === 'image' || key === 'proxyImage' ? undefined : value,
    ),
  };
}

/** Names of images with a registry, in what the release has put into the cluster. */
export async function listNamedImages(): Promise<readonly string[]> {
  const texts = [await helm(['get', 'manifest', 'sandlot']), await helm(['get', 'hooks', 'sandlot'])];
  const found = texts
    .join('\n')
    .matchAll(/(?:^|[\s"'])((?:[a-z0-9-]+\.)+[a-z]+(?::\d+)?\/[\w./-]+[:@][\w.:-]+)(?=["'\s]|$)/gm);
  return [...new Set([...found].map(([, name = '']) => name))].toSorted();
}
