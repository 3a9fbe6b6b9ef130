import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';
import type { RegistryAccess } from './registry.ts';
import { readImageDigest, formatLocalReference } from './registry.ts';

/** Image of the container that holds each pod's namespaces. */
export const pauseImage = 'docker.io/sandlot/pause:1';

/** Pushes the pause image, which holds one static program, unless the registry has it with the same program. */
export async function ensurePauseImage(registry: RegistryAccess): Promise<void> {
  const program = await readFile(registry.bin('pause'));
  const tag = createHash('sha256').update(program).digest('hex').slice(0, 32);
  const byContent = pauseImage.replace(/:1$/, `:${tag}`);
  const [present, wanted] = await Promise.all([
    readImageDigest(registry, pauseImage),
    readImageDigest(registry, byContent),
  ]);
  if (wanted !== undefined && present === wanted) return;
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-image-'));
  try {
    await copyFile(registry.bin('pause'), join(folder, 'pause'));
    const layer = join(folder, 'layer.tar');
    await execOrThrow(['tar', '--create', '--file', layer, '--owner=0', '--group=0', '--directory', folder, 'pause']);
    const target = formatLocalReference(registry.host, byContent);
    const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
    await runCrane(registry, ['append', '--new_layer', layer, '--new_tag', target]);
    await runCrane(registry, ['mutate', target, '--set-platform', platform, '--entrypoint', '/pause', '--tag', target]);
    await runCrane(registry, ['copy', target, formatLocalReference(registry.host, pauseImage)]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runCrane(registry: RegistryAccess, args: readonly string[]): Promise<void> {
  await execOrThrow([registry.bin('crane'), ...args, '--insecure']);
}
