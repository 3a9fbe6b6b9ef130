import { copyFile, cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureWheels } from '@sandlot/local-cluster';
import type { Progress, ProgressStep } from '@sandlot/local-cluster';
import { bundleService } from '../bundle.ts';
import { UpError } from '../errors.ts';
import { checkoutRoot } from '../paths.ts';
import { baseKey, ensureBase } from './base.ts';
import type { Buildah } from './buildah.ts';
import { contentKey } from './content-key.ts';
import type { ContextFile } from './content-key.ts';
import type { BaseName, ImageName, ImageRecipe } from './recipes.ts';
import { controllerNames, serviceNames } from './recipes.ts';

/** An image in buildah's store. */
export interface BuiltImage {
  readonly name: ImageName;
  /** Key of everything it was made from. */
  readonly tag: string;
  /** Its name in the store. */
  readonly stored: string;
  readonly sizeBytes: number;
  /** Whether this run made it; false: the store had it. */
  readonly fresh: boolean;
}

const PREFIX = 'localhost/sandlot';
/** Of Debian 12, which the images are made on. */
const DEBIAN_PYTHON = '3.11';
/** Images of earlier contents that stay in the store, so that going back to a branch builds nothing. */
const KEPT_GENERATIONS = 2;

/** Bundles every controller: `services/<name>/dist/main.js`. */
export function bundleControllers(): Promise<void> {
  return bundle(controllerNames);
}

/** The same for every service of the chart. */
export function bundleServices(): Promise<void> {
  return bundle(serviceNames);
}

async function bundle(names: readonly string[]): Promise<void> {
  for (const name of names) {
    await bundleService(join(checkoutRoot, 'services', name)).catch((error: unknown) => {
      const details = error instanceof Error ? error.message : String(error);
      throw new UpError({ step: 'Bundling the services', problem: `${name} does not bundle`, details });
    });
  }
}

/** Builds what the store lacks, each from its Dockerfile, and forgets old generations. Needs root, buildah, mmdebstrap. */
export async function buildImages(
  recipes: readonly ImageRecipe[],
  { buildah, progress }: { buildah: Buildah; progress: Progress },
): Promise<readonly BuiltImage[]> {
  const built: BuiltImage[] = [];
  for (const recipe of recipes) built.push(await buildImage(recipe, { buildah, progress, built }));
  if (built.some((image) => image.fresh)) await forgetOldGenerations(buildah);
  return built;
}

interface Workshop {
  readonly buildah: Buildah;
  readonly progress: Progress;
  /** Images of this run so far: others may be made on them. */
  readonly built: readonly BuiltImage[];
}

function builtBefore(name: ImageName, built: readonly BuiltImage[]): BuiltImage {
  const found = built.find((image) => image.name === name);
  if (found !== undefined) return found;
  throw new UpError({
    step: 'Building images',
    problem: `the image ${name} has to be built before what is made on it`,
  });
}

async function keyOfBase(base: ImageRecipe['base'], built: readonly BuiltImage[]): Promise<string> {
  if (base === undefined) return 'default';
  return typeof base === 'string' ? baseKey(base) : builtBefore(base.image, built).tag;
}

async function nameOfBase(base: ImageRecipe['base'], { built, ...tools }: Workshop): Promise<string | undefined> {
  if (base === undefined) return undefined;
  return typeof base === 'string' ? baseImageFor(base, tools) : builtBefore(base.image, built).stored;
}

async function buildImage(recipe: ImageRecipe, { buildah, progress, built }: Workshop): Promise<BuiltImage> {
  const dockerfile = join(checkoutRoot, 'images', recipe.folder, 'Dockerfile');
  const base = await keyOfBase(recipe.base, built);
  const tag = await contentKey([await readFile(dockerfile, 'utf8'), base, process.arch], filesOf(recipe));
  const stored = `${PREFIX}/${recipe.name}:${tag}`;
  const fresh = !(await buildah.has(stored));
  if (fresh) {
    const baseImage = await nameOfBase(recipe.base, { buildah, progress, built });
    const step = progress.step(`Building the image ${recipe.name}`);
    await orFail(step, async () => {
      const context = await stageContext(recipe);
      try {
        const onLine = (line: string): void => step.update(line);
        await buildah.build({ dockerfile, context, name: stored, baseImage, onLine });
      } finally {
        await rm(context, { recursive: true, force: true });
      }
    });
    step.done(megabytes(await buildah.sizeBytes(stored)));
  }
  return { name: recipe.name, tag, stored, fresh, sizeBytes: await buildah.sizeBytes(stored) };
}

/** The local base as an image in the store: `FROM scratch` and the root file system. */
async function baseImageFor(
  name: BaseName,
  { buildah, progress }: { buildah: Buildah; progress: Progress },
): Promise<string> {
  const archive = await ensureBase(name, progress);
  const stored = `${PREFIX}/base-${name}:${archive.key}`;
  if (await buildah.has(stored)) return stored;
  const context = await stageContext({ context: [{ target: 'rootfs.tar', source: archive.path }] });
  try {
    await buildah.build({ dockerfile: join(checkoutRoot, 'images/base/Dockerfile'), context, name: stored });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
  return stored;
}

type ContextOf = Pick<ImageRecipe, 'context' | 'wheels'>;

const filesOf = ({ context, wheels }: ContextOf): readonly ContextFile[] =>
  wheels === undefined ? context : [...context, wheels];

async function stageContext(recipe: ContextOf): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-image-'));
  for (const { target, source } of filesOf(recipe)) await copyFile(source, join(folder, target));
  // In a chroot on the way through a proxy the container would not trust what this machine trusts.
  if (recipe.wheels !== undefined) {
    await cp(await ensureWheels(recipe.wheels.source, DEBIAN_PYTHON), join(folder, 'wheels'), { recursive: true });
  }
  return folder;
}

async function forgetOldGenerations(buildah: Buildah): Promise<void> {
  const generations = new Map<string, { id: string; createdAtMs: number }[]>();
  for (const image of await buildah.list()) {
    const repository = image.names.find((name) => name.startsWith(PREFIX))?.split(':')[0];
    if (repository === undefined) continue;
    generations.set(repository, [...(generations.get(repository) ?? []), image]);
  }
  for (const images of generations.values()) {
    const old = images.toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(KEPT_GENERATIONS);
    for (const { id } of old) await buildah.remove(id);
  }
}

async function orFail(step: ProgressStep, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    step.fail();
    throw error;
  }
}

/** A size for people, in decimal megabytes as container tools print it. */
export function megabytes(bytes: number): string {
  return bytes < 10e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e6)} MB`;
}
