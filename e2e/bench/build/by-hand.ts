import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { formatDockerfile } from './work.ts';
import type { Work } from './work.ts';

const run = promisify(execFile);
const LIMIT_MS = 15 * 60_000;

/** Buildah with a store of its own, which a person would use in the place of Sandlot. Disposing removes the store. */
export class ByHand implements AsyncDisposable {
  readonly #folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
  readonly #base: string;

  private constructor(folder: Awaited<ReturnType<typeof mkdtempDisposable>>, base: string) {
    this.#folder = folder;
    this.#base = base;
  }

  /** Pulls the base, as the builder has done before. */
  static async begin(base: string): Promise<ByHand> {
    await using stack = new AsyncDisposableStack();
    const made = stack.use(new ByHand(await mkdtempDisposable(join(tmpdir(), 'sandlot-bench-buildah-')), base));
    await made.#call('pull', '--tls-verify=false', base);
    stack.move();
    return made;
  }

  /** Builds and pushes to `target`, and returns how long it took. */
  async measure(work: Work, target: string): Promise<number> {
    const dockerfile = join(this.#folder.path, 'Dockerfile');
    await writeFile(dockerfile, formatDockerfile(this.#base, work.variant));
    const startedMs = performance.now();
    const flags = ['--isolation', 'chroot', '--layers', '--pull=false', '--tls-verify=false'];
    await this.#call('bud', ...flags, '--file', dockerfile, '--tag', target, work.folder);
    await this.#call('push', '--tls-verify=false', target, `docker://${target}`);
    return performance.now() - startedMs;
  }

  async #call(command: string, ...args: readonly string[]): Promise<void> {
    const [root, state] = ['root', 'run'].map((name) => join(this.#folder.path, name)) as [string, string];
    await Promise.all([mkdir(root, { recursive: true }), mkdir(state, { recursive: true })]);
    const store = ['--root', root, '--runroot', state, '--storage-driver', 'overlay'];
    await run('buildah', [...store, command, ...args], { timeout: LIMIT_MS, maxBuffer: 1 << 26 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Files of images may belong to other users and stand below folders that none may write to.
    await this.#call('rmi', '--all', '--force').catch(() => undefined);
    await this.#folder[Symbol.asyncDispose]();
  }
}
