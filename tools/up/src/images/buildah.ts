import { mkdir } from 'node:fs/promises';
import type { CommandResult } from '@sandlot/local-cluster';
import type { CommandOptions } from '../command.ts';
import { createCommandError, run } from '../command.ts';
import { getCacheDir } from '../paths.ts';

const BUILD_TIMEOUT_MS = 15 * 60_000;

/** One line of `buildah images`. */
export interface StoredImage {
  readonly names: readonly string[];
  readonly createdAtMs: number;
  readonly id: string;
}

/** Buildah with its own image store in the cache folder. It does not touch the machine's store. */
export interface Buildah {
  /** Whether the store has an image of that name. */
  has(name: string): Promise<boolean>;
  build(o: {
    dockerfile: string;
    context: string;
    name: string;
    baseImage?: string | undefined;
    onLine?: CommandOptions['onLine'];
  }): Promise<void>;
  /** Pushes to `docker://…`. Set `plainHttp` for a registry without TLS. */
  push(o: { name: string; to: string; plainHttp: boolean; onLine?: CommandOptions['onLine'] }): Promise<void>;
  /** Returns the uncompressed size of an image in bytes. */
  readSizeBytes(name: string): Promise<number>;
  list(): Promise<readonly StoredImage[]>;
  remove(id: string): Promise<void>;
}

/** Opens the store, and creates it if needed. */
export async function openBuildah(): Promise<Buildah> {
  const root = getCacheDir('buildah', 'root');
  const runRoot = getCacheDir('buildah', 'run');
  await Promise.all([mkdir(root, { recursive: true }), mkdir(runRoot, { recursive: true })]);
  const storage = ['--root', root, '--runroot', runRoot, '--storage-driver', 'vfs'];
  const call = (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
    run(['buildah', ...storage, ...args], { timeoutMs: BUILD_TIMEOUT_MS, ...options });
  const callOrFail = async (step: string, args: readonly string[], options: CommandOptions = {}): Promise<string> => {
    const result = await call(args, options);
    if (result.code !== 0) throw createCommandError(step, `buildah ${args.join(' ')}`, result);
    return result.stdout;
  };
  return {
    has: async (name) => (await call(['inspect', '--type', 'image', name])).code === 0,
    build: async ({ dockerfile, context, name, baseImage, onLine }) => {
      const base = baseImage === undefined ? [] : ['--build-arg', `BASE_IMAGE=${baseImage}`];
      const args = ['bud', '--isolation', 'chroot', '--layers', ...base, '-f', dockerfile, '-t', name, context];
      await callOrFail(`Building the image ${name}`, args, { onLine });
    },
    push: async ({ name, to, plainHttp, onLine }) => {
      const tls = plainHttp ? ['--tls-verify=false'] : [];
      await callOrFail(`Pushing ${to}`, ['push', ...tls, name, `docker://${to}`], { onLine });
    },
    readSizeBytes: async (name) => parseSize(await callOrFail('Reading image sizes', ['images', '--json', name])),
    list: async () => parseList(await callOrFail('Listing images', ['images', '--json'])),
    remove: async (id) => {
      await call(['rmi', '--force', id]);
    },
  };
}

interface ListedImage {
  readonly id: string;
  readonly names?: readonly string[] | null;
  readonly size: string;
  readonly createdatraw: string;
}

const units: Readonly<Record<string, number>> = { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9 };

/** Returns bytes. Buildah prints sizes such as `143 MB`. */
export function parseSize(json: string): number {
  const [first] = JSON.parse(json) as readonly ListedImage[];
  const [amount = '0', unit = 'B'] = (first?.size ?? '').split(' ');
  return Number(amount) * (units[unit] ?? 1);
}

function parseList(json: string): readonly StoredImage[] {
  const images = (JSON.parse(json === '' ? '[]' : json) ?? []) as readonly ListedImage[];
  return images.map(({ id, names, createdatraw }) => ({
    id,
    names: names ?? [],
    createdAtMs: Date.parse(createdatraw),
  }));
}
