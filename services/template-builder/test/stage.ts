import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@sandlot/std';
import type { LogLevel, Step } from '@sandlot/template-build';
import { PlaneError } from '../src/plane/plane.ts';
import type { Assembly, BuiltImage, ImagePlane, ImageSource } from '../src/plane/plane.ts';
import type { BuildRequest, BuildTools } from '../src/run/build-run.ts';
import type { BuildSandbox, Command } from '../src/sandbox/build-sandbox.ts';

export interface Entry {
  readonly level: LogLevel;
  readonly message: string;
  readonly step: string | undefined;
}

/** What a command in the sandbox does: it ends so, after these lines. */
export interface Reaction {
  readonly status?: string;
  readonly lines?: readonly string[];
  /** It ends no sooner than this. */
  readonly after?: Promise<unknown>;
}

/** The rules of a registry and of a sandbox in memory, to see in which order a build uses them. */
export class Stage {
  readonly tags = new Map<string, BuiltImage>();
  readonly assembled: Assembly[] = [];
  readonly commands: Command[] = [];
  readonly sandboxes: string[] = [];
  readonly entries: Entry[] = [];
  readonly files = new Map<string, string>();
  readonly uploaded: string[] = [];
  closed = 0;
  layers = 0;
  /** By the command of a RUN, or the name of a tool. */
  reactions: Readonly<Record<string, Reaction>> = {};
  /** Whether a command changes no file. */
  changesNothing: (command: Command) => boolean = () => false;
  refusal: PlaneError | undefined;
  /** Runs before a layer has arrived. */
  onPush: () => Promise<void> = () => Promise.resolve();
  #changed = false;

  readonly #plane: ImagePlane = {
    resolve: async ({ image }: ImageSource) => {
      if (this.refusal !== undefined) throw this.refusal;
      return { digest: `sha256:${image}`, labels: {} };
    },
    pushLayer: async (_repository, tar) => {
      const content = await text(tar);
      await this.onPush();
      this.layers += 1;
      return { digest: `sha256:layer-${this.layers}`, diffID: content, size: content.length };
    },
    assemble: async (assembly) => {
      this.assembled.push(assembly);
      const { repository, tag, labels = {} } = assembly;
      const built = { image: `${repository}@sha256:${tag}`, digest: `sha256:${tag}`, labels };
      this.tags.set(`${repository}:${tag}`, built);
      return built;
    },
    findTag: async (repository, tag) => this.tags.get(`${repository}:${tag}`),
    openFiles: async ({ filesHash }) => {
      const content = this.files.get(filesHash);
      if (content === undefined) throw new PlaneError('not_found', 'there are no such files');
      return Readable.from([content]);
    },
    hasFiles: async ({ filesHash }) => this.files.has(filesHash),
    keepFiles: async ({ filesHash }, archive) => void this.files.set(filesHash, await text(archive)),
  };

  readonly #sandbox: BuildSandbox = {
    run: async (command) => this.#run(command),
    upload: async (_path, content) => void this.uploaded.push(await text(content)),
    download: async () => Readable.from(['tar']),
    [Symbol.asyncDispose]: async () => {
      this.closed += 1;
    },
  };

  readonly tools: BuildTools = {
    plane: this.#plane,
    clock: { now: () => systemClock.now(), sleep: () => Promise.resolve() },
    log: {
      add: async (level, message, step) => void this.entries.push({ level, message, step }),
      addOutput: (level, message, step) => void this.entries.push({ level, message, step }),
    },
    openSandbox: async ({ image }) => {
      this.sandboxes.push(image);
      return this.#sandbox;
    },
  };

  /** The commands of RUN steps, in their order. */
  get ran(): readonly string[] {
    return this.commands.filter(({ args }) => args[0] === '-l').map(({ args }) => args[2] ?? '');
  }

  get lines(): readonly string[] {
    return this.entries.map(({ message }) => message);
  }

  async #run(command: Command) {
    this.commands.push(command);
    const script = findScript(command);
    if (script === 'layer') return this.#capture(command);
    const { status = 'exit status 0', lines = [], after } = this.reactions[script] ?? {};
    await after;
    for (const line of lines) command.onLine?.(line, 'stdout');
    this.#changed ||= !this.changesNothing(command);
    return { isSuccess: status === 'exit status 0', status };
  }

  #capture({ args, onLine }: Command) {
    const entries = args[1] === 'diff' && this.#changed ? 3 : 0;
    this.#changed = false;
    onLine?.(JSON.stringify({ entries, bytes: entries * 512 }), 'stdout');
    return { isSuccess: true, status: 'exit status 0' };
  }
}

/** The command of a RUN, or the name of a tool. */
function findScript({ program, args }: Command): string {
  return args.at(program === '/bin/bash' && args[0] === '-l' ? 2 : 0) ?? '';
}

export const run = (command: string, more: Partial<Step> = {}): Step => ({ type: 'RUN', args: [command], ...more });

export function request(steps: readonly Step[], more: Partial<BuildRequest> = {}): BuildRequest {
  return {
    tag: '0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f',
    title: 'app',
    source: { image: 'debian:13' },
    sourceTitle: 'debian:13',
    isFromTemplate: false,
    steps,
    force: false,
    repository: 'registry/team/build.images',
    cacheRepository: 'registry/team/build-cache',
    filesRepository: 'registry/team/build-files',
    ...more,
  };
}
