import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBinaries, startImagePlane, startRegistry } from '@sandlot/local-cluster';
import type { Binaries, ImagePlaneServer, Server } from '@sandlot/local-cluster';
import { z } from 'zod';

const imageConfig = z.object({ config: z.looseObject({}), history: z.array(z.looseObject({})) });
const run = promisify(execFile);
const PREFIX = 'sandlot';
const PLATFORM = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;

/** The registry of an installation with its image plane, and one that tenants name. */
export class RealImages implements AsyncDisposable {
  readonly own: Server;
  readonly foreign: Server;
  readonly plane: ImagePlaneServer;
  readonly folder: string;
  readonly #bin: Binaries;

  private constructor(servers: Pick<RealImages, 'own' | 'foreign' | 'plane'>, bin: Binaries, folder: string) {
    this.own = servers.own;
    this.foreign = servers.foreign;
    this.plane = servers.plane;
    this.folder = folder;
    this.#bin = bin;
  }

  static async start(flags: readonly string[] = []): Promise<RealImages> {
    const [own, foreign] = await Promise.all([startRegistry(), startRegistry()]);
    const plane = await startImagePlane(`${formatHost(own)}/${PREFIX}`, flags);
    const folder = await mkdtemp(join(tmpdir(), 'sandlot-images-'));
    return new RealImages({ own, foreign, plane }, await ensureBinaries(['crane']), folder);
  }

  /** Begins the names of images of builds. */
  get registry(): string {
    return `${formatHost(this.own)}/${PREFIX}`;
  }

  /** Pushes an image with one file and one label to a registry. Returns its reference. */
  async push(server: Server, name: string, label: string): Promise<string> {
    const reference = `${formatHost(server)}/${name}`;
    const layer = await this.writeTar('base.txt', `the base ${name}`);
    await this.#crane('append', '--new_layer', layer, '--new_tag', reference);
    await this.#crane('mutate', reference, '--set-platform', PLATFORM, '--label', label, '--tag', reference);
    return reference;
  }

  /** Writes a tar with one file. Returns its path. */
  async writeTar(name: string, content: string): Promise<string> {
    const path = join(this.folder, `${name}.tar`);
    await writeFile(join(this.folder, name), content);
    await run('tar', ['--create', '--file', path, '--owner=0', '--group=0', '--directory', this.folder, name]);
    return path;
  }

  /** The content of a file of an image. */
  async readFile(image: string, name: string): Promise<string> {
    const path = join(this.folder, 'exported.tar');
    await this.#crane('export', image, path);
    return (await run('tar', ['--extract', '--to-stdout', '--file', path, name])).stdout;
  }

  /** Whether a registry has an image. */
  async has(image: string): Promise<boolean> {
    try {
      await this.#crane('digest', image);
      return true;
    } catch (error) {
      if (error instanceof Error && error.message.includes('MANIFEST_UNKNOWN')) return false;
      throw error;
    }
  }

  /** The configuration of an image. */
  async readConfig(image: string): Promise<z.output<typeof imageConfig>> {
    return imageConfig.parse(JSON.parse(await this.#crane('config', image)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.plane.stop(), this.own.stop(), this.foreign.stop()]);
    await rm(this.folder, { recursive: true, force: true });
  }

  async #crane(...args: readonly string[]): Promise<string> {
    return (await run(this.#bin('crane'), [...args, '--insecure'])).stdout;
  }
}

/** Host and port of a server. */
export function formatHost({ port }: Pick<Server, 'port'>): string {
  return `127.0.0.1:${port}`;
}
