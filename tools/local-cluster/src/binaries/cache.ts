import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { MissingToolError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import type { GoModule } from './catalog.ts';
import { goModules } from './catalog.ts';

/** The highest Go version that any of our go.mod files requires. */
const oldestGo = [1, 26, 6];

/** Environment of every go command: use the installed toolchain and build static binaries. */
export const goEnvironment = { GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };

/** Returns the folder with a module's sources. */
export function goModuleDir({ folder }: Pick<GoModule, 'folder'>): string {
  return join(import.meta.dirname, '../..', folder);
}

let found: Promise<(module: GoModule) => string> | undefined;

/**
 * Finds the cache folder of each module, which depends on its sources and on the Go version. Reads them once per process.
 * Throws MissingToolError.
 */
export async function findBinaryCacheDirs(): Promise<(module: GoModule) => string> {
  found ??= findDirs();
  return found;
}

async function findDirs(): Promise<(module: GoModule) => string> {
  const version = await goVersion();
  const dirs = new Map<GoModule, string>();
  for (const module of goModules) dirs.set(module, join(getCacheRoot(), 'bin', await hashInputs(module, version)));
  return (module) => dirs.get(module) ?? '';
}

async function hashInputs(module: GoModule, version: string): Promise<string> {
  const hash = createHash('sha256');
  hash.update(version).update(JSON.stringify(module.recipes));
  for (const folder of [module.folder, ...(module.imports ?? [])]) {
    const dir = goModuleDir({ folder });
    for (const file of (await readdir(dir, { recursive: true })).filter(isInput).sort()) {
      hash.update(`\0${file}\0`).update(await readFile(join(dir, file)));
    }
  }
  return hash.digest('hex');
}

/** Whether a build depends on the file of a module. */
function isInput(file: string): boolean {
  return /((?<!_test)\.go|\.tmpl|\.patch|^go\.(mod|sum))$/.test(file);
}

/** Root of the cache for everything that is slow to build. It is outside the checkout. */
export function getCacheRoot(): string {
  const { SANDLOT_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  return SANDLOT_CACHE_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sandlot');
}

async function goVersion(): Promise<string> {
  const { stdout, code } = await exec(['go', 'env', 'GOVERSION', 'GOARCH'], {
    cwd: import.meta.dirname,
    env: goEnvironment,
  });
  const found = /^go(\d+)\.(\d+)(?:\.(\d+))?/.exec(stdout);
  const oldest = oldestGo.join('.');
  if (code !== 0 || found === null) {
    throw new MissingToolError(`Go is missing: install Go ${oldest} or newer (https://go.dev/dl) and put it in PATH`);
  }
  if (
    isOlder(
      [found[1], found[2], found[3]].map((part) => Number(part ?? 0)),
      oldestGo,
    )
  ) {
    throw new MissingToolError(
      `Go ${oldest} or newer is needed; this machine has ${stdout.trim().split('\n')[0] ?? ''}`,
    );
  }
  return stdout;
}

function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  const differing = oldest.findIndex((part, index) => (version[index] ?? 0) !== part);
  return differing >= 0 && (version[differing] ?? 0) < (oldest[differing] ?? 0);
}
