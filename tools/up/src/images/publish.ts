import type { Progress, ProgressStep } from '@sandlot/local-cluster';
import { runOrFail } from '../command.ts';
import type { BuiltImage } from './build.ts';
import type { Buildah } from './buildah.ts';
import { readStandIns } from './stand-ins.ts';

/** A registry, and the path of our images in it. */
export interface Registry {
  /** Such as `127.0.0.1:5000` or `registry.example.com`. */
  readonly host: string;
  /** Such as `sandlot` or `team/sandlot`. May be empty. */
  readonly path: string;
}

/** Splits `HOST/PATH`. */
export function parseRegistry(text: string): Registry {
  const [host = '', ...path] = text.replace(/\/+$/, '').split('/');
  return { host, path: path.join('/') };
}

/** Returns the full name of one of our images in a registry. */
export function formatImage(registry: Registry, { name, tag }: { name: string; tag: string }): string {
  return [registry.host, registry.path, `${name}:${tag}`].filter((part) => part !== '').join('/');
}

/** Whether a registry is on this machine. Container tools assume that such registries speak plain HTTP. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(host);
}

const MANIFEST_TYPES = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');

/** Returns the digest of an image in a registry on this machine, or undefined if it is not there. */
async function readLocalDigest(host: string, repository: string, tag: string): Promise<string | undefined> {
  const url = `http://${host}/v2/${repository}/manifests/${tag}`;
  const response = await fetch(url, { method: 'HEAD', headers: { Accept: MANIFEST_TYPES } });
  return response.ok ? (response.headers.get('docker-content-digest') ?? undefined) : undefined;
}

export interface PublishOptions {
  readonly buildah: Buildah;
  readonly registry: Registry;
  readonly progress: Progress;
}

/** Pushes images. Skips images that a registry on this machine has; buildah skips layers that any registry has. */
export async function publishImages(images: readonly BuiltImage[], options: PublishOptions): Promise<void> {
  const { buildah, registry, progress } = options;
  const step = progress.startStep(`Pushing images to ${registry.host}`);
  let pushed = 0;
  try {
    for (const image of images) {
      if (isLoopback(registry.host) && (await hasImage(registry, image))) continue;
      step.update(image.name);
      await buildah.push({
        name: image.stored,
        to: formatImage(registry, image),
        plainHttp: isLoopback(registry.host),
      });
      pushed += 1;
    }
  } catch (error) {
    step.fail();
    throw error;
  }
  step.finish(pushed === 0 ? 'already there' : `${pushed} pushed`);
}

async function hasImage(registry: Registry, { name, tag }: BuiltImage): Promise<boolean> {
  return (await readLocalDigest(registry.host, formatPath(registry, name), tag)) !== undefined;
}

function formatPath({ path }: Registry, name: string): string {
  return [path, name].filter((part) => part !== '').join('/');
}

/** Serves the popular names of images/stand-ins.yaml from the local cluster's registry. */
export async function publishStandIns(
  images: readonly BuiltImage[],
  { registry, crane, progress }: { registry: Registry; crane: string; progress: Progress },
): Promise<void> {
  const { host } = registry;
  const title = 'Serving stand-ins for popular images';
  let step: ProgressStep | undefined;
  for (const { image: name, repository, tag } of await readStandIns()) {
    const image = images.find((built) => built.name === name);
    if (image === undefined) continue;
    const want = await readLocalDigest(host, formatPath(registry, name), image.tag);
    if (want === (await readLocalDigest(host, repository, tag))) continue;
    step ??= progress.startStep(title);
    step.update(`${repository}:${tag}`);
    await runOrFail(title, [crane, 'copy', '--insecure', formatImage(registry, image), `${host}/${repository}:${tag}`]);
  }
  step?.finish();
}
