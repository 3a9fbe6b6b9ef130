import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';
import type { RegistryAccess } from './registry.ts';
import { imageDigest, localReference } from './registry.ts';

/** Image of every pod's first container. */
export const pauseImage = 'docker.io/sandlot/pause:1';

/** Image of the pods that make and remove volume folders. */
export const volumeHelperImage = 'docker.io/sandlot/volume-helper:1';

const busybox = '/bin/busybox';
const applets = ['sh', 'mkdir', 'rm', 'chmod'];

/** Puts the images the node itself needs into the registry; they are made of one static program each. */
export async function ensureBaseImages(registry: RegistryAccess): Promise<void> {
  await ensureImage(registry, {
    name: pauseImage,
    program: registry.bin('pause'),
    links: [],
    entrypoint: '/bin/pause',
  });
  await ensureImage(registry, { name: volumeHelperImage, program: busybox, links: applets, entrypoint: '/bin/sh' });
}

interface ProgramImage {
  name: string;
  program: string;
  /** Further names of the program in /bin. */
  links: readonly string[];
  entrypoint: string;
}

async function ensureImage(registry: RegistryAccess, image: ProgramImage): Promise<void> {
  const program = createHash('sha256')
    .update(await readFile(image.program))
    .digest('hex');
  const byContent = `${image.name.replace(/:.*/, '')}:${program.slice(0, 32)}`;
  const [present, wanted] = await Promise.all([imageDigest(registry, image.name), imageDigest(registry, byContent)]);
  if (wanted !== undefined && present === wanted) return;
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-image-'));
  try {
    const layer = await packLayer(folder, image);
    const target = localReference(registry.host, byContent);
    await crane(registry, ['append', '--new_layer', layer, '--new_tag', target]);
    const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
    await crane(registry, [
      'mutate',
      target,
      '--set-platform',
      platform,
      '--entrypoint',
      image.entrypoint,
      '--tag',
      target,
    ]);
    await crane(registry, ['copy', target, localReference(registry.host, image.name)]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function packLayer(folder: string, image: ProgramImage): Promise<string> {
  const bin = join(folder, 'rootfs/bin');
  await mkdir(bin, { recursive: true });
  const name = basename(image.program);
  await copyFile(image.program, join(bin, name));
  await chmod(join(bin, name), 0o755);
  for (const link of image.links) await execOrThrow(['ln', '-s', name, join(bin, link)]);
  const layer = join(folder, 'layer.tar');
  await execOrThrow([
    'tar',
    '--create',
    '--file',
    layer,
    '--owner=0',
    '--group=0',
    '--directory',
    join(folder, 'rootfs'),
    '.',
  ]);
  return layer;
}

async function crane(registry: RegistryAccess, args: readonly string[]): Promise<void> {
  await execOrThrow([registry.bin('crane'), ...args, '--insecure']);
}
