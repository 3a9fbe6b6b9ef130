import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { machinePaths } from '@sandlot/local-cluster';
import { useMemory } from './use-memory.ts';
import { time, waitFor } from './wait.ts';

const run = promisify(execFile);
/** A static busybox. */
const BUSYBOX = '/bin/busybox';
const READY = '/dev/shm/ready';

/** What gVisor itself takes for a container with this memory, without Kubernetes and without Sandlot; milliseconds. */
export interface RawTimes {
  readonly saveMs: number;
  readonly restoreMs: number;
}

/** Saves and restores one container of the gVisor that the cluster uses. Disposing ends it. */
export class RawContainer implements AsyncDisposable {
  readonly #folder: string;
  readonly #mebibytes: number;
  #count = 0;
  #id = '';

  private constructor(folder: string, mebibytes: number) {
    this.#folder = folder;
    this.#mebibytes = mebibytes;
  }

  /** Starts a container that holds so much random memory. */
  static async start(mebibytes: number): Promise<RawContainer> {
    const raw = new RawContainer(await mkdtemp(join(tmpdir(), 'sandlot-bench-')), mebibytes);
    await raw.#writeBundle();
    raw.#id = raw.#nextId();
    await raw.#runsc('run', '--detach', '--bundle', raw.#path('bundle'), raw.#id);
    await waitFor('the container has its memory', () =>
      raw.#runsc('exec', raw.#id, BUSYBOX, 'test', '-e', READY).then(
        () => true,
        () => undefined,
      ),
    );
    return raw;
  }

  /**
   * One save, after which the container goes on, and one restore into another container, which ends then. The restore reads the page
   * cache, as Sandlot's does of what has just been saved.
   */
  async measure(): Promise<RawTimes> {
    const image = this.#path('image');
    await rm(image, { recursive: true, force: true });
    await mkdir(image);
    await useMemory(this.#folder, this.#mebibytes);
    const saveMs = await time(() =>
      this.#runsc('checkpoint', '--leave-running', '--compression=none', `--image-path=${image}`, this.#id),
    );
    const id = this.#nextId();
    const restoreMs = await time(() =>
      this.#runsc('restore', '--detach', '--background', `--image-path=${image}`, '--bundle', this.#path('bundle'), id),
    );
    await this.#runsc('delete', '--force', id);
    return { saveMs, restoreMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runsc('delete', '--force', this.#id).catch(() => undefined);
    await run('umount', ['--lazy', this.#path('root', 'null-netns')]).catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #path(...parts: readonly string[]): string {
    return join(this.#folder, ...parts);
  }

  /** No id may begin with another one: runsc takes the beginning for the whole. */
  #nextId(): string {
    this.#count += 1;
    return `raw-${String(this.#count).padStart(4, '0')}`;
  }

  async #writeBundle(): Promise<void> {
    const root = this.#path('bundle', 'rootfs');
    for (const folder of ['bin', 'dev', 'proc']) await mkdir(join(root, folder), { recursive: true });
    await cp(BUSYBOX, join(root, BUSYBOX), { dereference: true });
    await writeFile(this.#path('bundle', 'config.json'), JSON.stringify(buildSpec(root, this.#mebibytes)));
  }

  /** The container keeps the standard streams of `runsc`, so a pipe would never end. */
  async #runsc(...args: readonly string[]): Promise<void> {
    const flags = ['--root', this.#path('root'), '--platform=systrap', '--network=none', '--ignore-cgroups'];
    const [code] = (await once(spawn(machinePaths.runsc, [...flags, ...args], { stdio: 'ignore' }), 'exit')) as [
      number,
    ];
    if (code !== 0) throw new Error(`runsc ${args.join(' ')} ended with ${code}`);
  }
}

function buildSpec(root: string, mebibytes: number): object {
  const bytes = mebibytes * 1024 ** 2;
  const fill = `${BUSYBOX} head -c ${bytes} /dev/urandom; ${BUSYBOX} touch ${READY}`;
  // tail keeps what may be the end of its input in its own memory, as the program of the sandbox does.
  const script = `(${fill}; while true; do ${BUSYBOX} sleep 1; done) | ${BUSYBOX} tail -c ${bytes}`;
  return {
    ociVersion: '1.0.2',
    root: { path: root, readonly: false },
    process: { args: [BUSYBOX, 'sh', '-c', script], cwd: '/', env: ['PATH=/bin'], user: { uid: 0, gid: 0 } },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs' },
      { destination: '/dev/shm', type: 'tmpfs', source: 'tmpfs' },
    ],
    linux: { namespaces: [{ type: 'pid' }, { type: 'ipc' }, { type: 'mount' }, { type: 'uts' }, { type: 'network' }] },
  };
}
