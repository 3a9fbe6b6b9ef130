import { copyFile, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureWheels } from '@sandlot/local-cluster';
import type { Progress, ProgressStep } from '@sandlot/local-cluster';
import { bundleMcp } from '../bundle-mcp.ts';
import { bundleService } from '../bundle.ts';
import { UpError } from '../errors.ts';
import { checkoutRoot } from '../paths.ts';
import { computeBaseKey, ensureBase } from './base.ts';
import type { Buildah } from './buildah.ts';
import { computeContentKey } from './content-key.ts';
import type { ContextFile } from './content-key.ts';
import type { BaseName, ImageName, ImageRecipe } from './recipes.ts';
import { controllerNames, serviceNames } from './recipes.ts';

/** An image in buildah's store. */
export interface BuiltImage {
  readonly name: ImageName;
  /** Hash of everything it was built from. */
  readonly tag: string;
  /** Name in the store. */
  readonly stored: string;
  readonly sizeBytes: number;
  /** True if this run built it, false if the store had it. */
  readonly fresh: boolean;
}

const PREFIX = 'localhost/sandlot';
/** Python version of Debian 12, the base of the images. */
const DEBIAN_PYTHON = '3.11';
/** Number of versions of each image to keep in the store, so that switching back to a branch builds nothing. */
const KEPT_VERSIONS = 2;

/** Bundles every controller into `services/<name>/dist/main.js`. */
export function bundleControllers(): Promise<void> {
  return bundle(controllerNames);
}

/**
 * Bundles every service of the chart into `services/<name>/dist/main.js`, and what the image `mcp-gateway` runs into
 * `tools/mcp-gateway/dist`.
 */
export async function bundleServices(): Promise<void> {
  await bundle(serviceNames);
  await bundleMcp().catch((error: unknown) => failBundle('mcp-gateway', error));
}

async function bundle(names: readonly string[]): Promise<void> {
  for (const name of names) {
    await bundleService(join(checkoutRoot, 'services', name)).catch((error: unknown) => failBundle(name, error));
  }
}

function failBundle(name: string, error: unknown): never {
  const details = error instanceof Error ? error.message : String(error);
  throw new UpError({ step: 'Bundling the services', problem: `${name} does not bundle`, details });
}

/** Builds the images that the store lacks and removes old versions. Needs root, buildah and mmdebstrap. */
export async function buildImages(
  recipes: readonly ImageRecipe[],
  { buildah, progress }: { buildah: Buildah; progress: Progress },
): Promise<readonly BuiltImage[]> {
  const built: BuiltImage[] = [];
  for (const recipe of recipes) built.push(await buildImage(recipe, { buildah, progress, built }));
  if (built.some((image) => image.fresh)) await removeOldVersions(buildah);
  return built;
}

interface BuildContext {
  readonly buildah: Buildah;
  readonly progress: Progress;
  /** Images built so far in this run. Later images may use them as their base. */
  readonly built: readonly BuiltImage[];
}

function findBuilt(name: ImageName, built: readonly BuiltImage[]): BuiltImage {
  const found = built.find((image) => image.name === name);
  if (found !== undefined) return found;
  throw new UpError({
    step: 'Building images',
    problem: `the image ${name} has to be built before the images based on it`,
  });
}

async function computeKeyOfBase(base: ImageRecipe['base'], built: readonly BuiltImage[]): Promise<string> {
  if (base === undefined) return 'default';
  return typeof base === 'string' ? computeBaseKey(base) : findBuilt(base.image, built).tag;
}

async function nameOfBase(base: ImageRecipe['base'], { built, ...tools }: BuildContext): Promise<string | undefined> {
  if (base === undefined) return undefined;
  return typeof base === 'string' ? ensureBaseImage(base, tools) : findBuilt(base.image, built).stored;
}

async function buildImage(recipe: ImageRecipe, { buildah, progress, built }: BuildContext): Promise<BuiltImage> {
  const dockerfile = join(checkoutRoot, 'images', recipe.folder, 'Dockerfile');
  const base = await computeKeyOfBase(recipe.base, built);
  const tag = await computeContentKey([await readFile(dockerfile, 'utf8'), base, process.arch], listFiles(recipe));
  const stored = `${PREFIX}/${recipe.name}:${tag}`;
  const fresh = !(await buildah.has(stored));
  if (fresh) {
    const baseImage = await nameOfBase(recipe.base, { buildah, progress, built });
    const step = progress.startStep(`Building the image ${recipe.name}`);
    await failStepOnError(step, async () => {
      const context = await stageContext(recipe);
      try {
        const onLine = (line: string): void => step.update(line);
        await buildah.build({ dockerfile, context, name: stored, baseImage, onLine });
      } finally {
        await rm(context, { recursive: true, force: true });
      }
    });
    step.finish(formatMegabytes(await buildah.readSizeBytes(stored)));
  }
  return { name: recipe.name, tag, stored, fresh, sizeBytes: await buildah.readSizeBytes(stored) };
}

/** Builds the local base as an image in the store unless it is there: `FROM scratch` and the root file system. */
async function ensureBaseImage(
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

const listFiles = ({ context, wheels }: ContextOf): readonly ContextFile[] =>
  wheels === undefined ? context : [...context, wheels];

async function stageContext(recipe: ContextOf): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-image-'));
  await fillContext(recipe, folder);
  return folder;
}

/** Copies what the Dockerfile of the image needs into a folder. */
export async function fillContext(recipe: ContextOf, folder: string): Promise<void> {
  for (const { target, source } of listFiles(recipe)) {
    await mkdir(dirname(join(folder, target)), { recursive: true });
    await copyFile(source, join(folder, target));
  }
  // Downloads the wheels on the machine: behind a proxy, the build container would not trust the machine's CAs.
  if (recipe.wheels !== undefined) {
    await cp(await ensureWheels(recipe.wheels.source, DEBIAN_PYTHON), join(folder, 'wheels'), { recursive: true });
  }
}

async function removeOldVersions(buildah: Buildah): Promise<void> {
  const versions = new Map<string, { id: string; createdAtMs: number }[]>();
  for (const image of await buildah.list()) {
    const repository = image.names.find((name) => name.startsWith(PREFIX))?.split(':')[0];
    if (repository === undefined) continue;
    versions.set(repository, [...(versions.get(repository) ?? []), image]);
  }
  for (const images of versions.values()) {
    const old = images.toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(KEPT_VERSIONS);
    for (const { id } of old) await buildah.remove(id);
  }
}

async function failStepOnError(step: ProgressStep, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    step.fail();
    throw error;
  }
}

/** Formats a size in decimal megabytes, as container tools print it. */
export function formatMegabytes(bytes: number): string {
  return bytes < 10e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e6)} MB`;
}
