import type { Progress } from '@sandlot/local-cluster';
import { runOrFail } from '../command.ts';
import type { BuiltImage } from './build.ts';
import type { Buildah } from './buildah.ts';
import { readStandIns } from './stand-ins.ts';

/** A registry and the path below it where our images go. */
export interface Registry {
  /** `127.0.0.1:5000`, `registry.example.com`. */
  readonly host: string;
  /** `sandlot`, `team/sandlot`; may be empty. */
  readonly path: string;
}

/** Splits `HOST/PATH`. */
export function parseRegistry(text: string): Registry {
  const [host = '', ...path] = text.replace(/\/+$/, '').split('/');
  return { host, path: path.join('/') };
}

/** The full name of one of our images in a registry. */
export function imageIn(registry: Registry, { name, tag }: { name: string; tag: string }): string {
  return [registry.host, registry.path, `${name}:${tag}`].filter((part) => part !== '').join('/');
}

/** Registries on this machine speak plain HTTP, as container tools assume. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(host);
}

export interface PublishOptions {
  readonly buildah: Buildah;
  readonly registry: Registry;
  readonly progress: Progress;
  /** Whether the registry has an image already; absent: always push, which uploads only what is missing. */
  readonly has?: ((repository: string, tag: string) => Promise<boolean>) | undefined;
}

/** Pushes the images that the registry lacks. */
export async function publishImages(images: readonly BuiltImage[], options: PublishOptions): Promise<void> {
  const { buildah, registry, progress, has } = options;
  const step = progress.step(`Pushing images to ${registry.host}`);
  let pushed = 0;
  try {
    for (const image of images) {
      const repository = [registry.path, image.name].filter((part) => part !== '').join('/');
      if ((await has?.(repository, image.tag)) === true) continue;
      step.update(image.name);
      await buildah.push({ name: image.stored, to: imageIn(registry, image), plainHttp: isLoopback(registry.host) });
      pushed += 1;
    }
  } catch (error) {
    step.fail();
    throw error;
  }
  step.done(pushed === 0 ? 'all there' : `${pushed} pushed`);
}

/** Serves the popular names of images/stand-ins.yaml from the local cluster's registry. */
export async function publishStandIns(
  images: readonly BuiltImage[],
  options: { registry: Registry; crane: string; digestOf: (name: string) => Promise<string | undefined> },
): Promise<void> {
  const { registry, crane, digestOf } = options;
  for (const standIn of await readStandIns()) {
    const image = images.find(({ name }) => name === standIn.image);
    if (image === undefined) continue;
    const source = imageIn(registry, image);
    const want = await digestOf(`${registry.path}/${image.name}:${image.tag}`);
    if (want !== undefined && want === (await digestOf(`${standIn.repository}:${standIn.tag}`))) continue;
    const target = `${registry.host}/${standIn.repository}:${standIn.tag}`;
    await runOrFail('Publishing stand-ins', [crane, 'copy', '--insecure', source, target]);
  }
}
