import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { MissingToolError } from '../errors.ts';
import { exec } from '../process/exec.ts';
import { recipesFingerprint } from './catalog.ts';

const oldestGo = { major: 1, minor: 26 };

/** The Go module with every program of the cluster. */
export const goModuleDir = join(import.meta.dirname, '../../go');

/** The environment of every go command: the toolchain on the machine, static binaries. */
export const goEnvironment = { GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };

/** The folder of the binaries built from exactly these sources with exactly this Go. */
export async function binaryCacheDir(): Promise<string> {
  const hash = createHash('sha256');
  hash.update(await goVersion()).update(recipesFingerprint);
  const files = await readdir(goModuleDir, { recursive: true });
  for (const file of files.filter((name) => /(\.go|^go\.(mod|sum))$/.test(name)).sort()) {
    hash.update(`\0${file}\0`).update(await readFile(join(goModuleDir, file)));
  }
  return join(cacheRoot(), 'bin', hash.digest('hex'));
}

function cacheRoot(): string {
  const { SANDLOT_CACHE_DIR, XDG_CACHE_HOME } = process.env;
  return SANDLOT_CACHE_DIR ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'sandlot');
}

async function goVersion(): Promise<string> {
  const { stdout, code } = await exec(['go', 'env', 'GOVERSION', 'GOARCH'], { cwd: goModuleDir, env: goEnvironment });
  const found = /^go(\d+)\.(\d+)/.exec(stdout);
  if (code !== 0 || found === null) {
    throw new MissingToolError('Go is missing: install Go 1.26 or newer (https://go.dev/dl) and put it in PATH');
  }
  const [major, minor] = [Number(found[1]), Number(found[2])];
  if (major < oldestGo.major || (major === oldestGo.major && minor < oldestGo.minor)) {
    throw new MissingToolError(`Go 1.26 or newer is needed; this machine has ${stdout.trim().split('\n')[0] ?? ''}`);
  }
  return stdout;
}
