import { execOrThrow } from '../process/exec.ts';
import { goEnvironment, goModuleDir } from './cache.ts';
import type { BinaryName } from './catalog.ts';
import { buildRecipe } from './catalog.ts';

/** Returns the folder with the source of a program's package, which Go fetches if needed. */
export async function findGoSource(name: BinaryName): Promise<string> {
  const { module, recipe } = buildRecipe(name);
  const { stdout } = await execOrThrow(['go', 'list', '-f', '{{.Dir}}', recipe.package], {
    cwd: goModuleDir(module),
    env: goEnvironment,
    timeoutMs: 10 * 60_000,
  });
  return stdout.trim();
}
