import { Sandbox, Template } from 'e2b';
import type { BuildInfo, SandboxOpts, TemplateClass } from 'e2b';
import { LIFETIME_MS, readAccess } from '../sdk/client.ts';
import type { Access } from '../sdk/client.ts';

/** What clients ask for when they name no image; the local cluster has the image of its template `base` in its place. */
export const BASE_IMAGE = 'e2bdev/base';

export interface Built {
  readonly info: BuildInfo;
  /** The messages of the client and of the build, in their order. */
  readonly log: readonly string[];
}

interface Options {
  readonly skipCache?: boolean;
  readonly tags?: string[];
}

/** The templates and sandboxes of one test file, made by the stock client. Disposing removes them. */
export class Templates implements AsyncDisposable {
  readonly access: Access;
  readonly #purpose: string;
  readonly #names = new Set<string>();
  readonly #sandboxes: Sandbox[] = [];

  private constructor(purpose: string, access: Access) {
    this.#purpose = purpose;
    this.access = access;
  }

  static async begin(purpose: string): Promise<Templates> {
    return new Templates(purpose, await readAccess());
  }

  /** A name that no other run uses. What has it is deleted at the end. */
  name(suffix: string): string {
    const name = `e2e-${this.#purpose}-${process.pid}-${suffix}`;
    this.#names.add(name);
    return name;
  }

  /** Builds `name` or `name:tag`. Throws what the client throws. */
  async build(template: TemplateClass, reference: string, options: Options = {}): Promise<Built> {
    const log: string[] = [];
    const onBuildLogs = ({ message }: { readonly message: string }): void => void log.push(message);
    const info = await Template.build(template, reference, { ...this.access, cpuCount: 1, onBuildLogs, ...options });
    return { info, log };
  }

  /** Creates a sandbox of a template. */
  async open(reference: string, options: SandboxOpts = {}): Promise<Sandbox> {
    const sandbox = await Sandbox.create(reference, { ...this.access, timeoutMs: LIFETIME_MS, ...options });
    this.#sandboxes.push(sandbox);
    return sandbox;
  }

  /** Calls the API as clients do. */
  async call(method: string, path: string, body?: unknown): Promise<Response> {
    const headers = { 'x-api-key': this.access.apiKey, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(`${this.access.apiUrl}${path}`, { method, headers, ...sent });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#sandboxes.map((sandbox) => sandbox.kill()));
    for (const name of this.#names) await this.call('DELETE', `/templates/${encodeURIComponent(name)}`);
  }
}

/** The lines that name the steps of a build. Those of steps that came from the cache begin with `CACHED `. */
export function listSteps({ log }: Built): readonly string[] {
  return log.filter((message) => /^(CACHED )?\[builder \d+\/\d+\] /.test(message));
}

/** Which steps came from the cache, in their order. */
export function listCached(built: Built): readonly boolean[] {
  return listSteps(built).map((message) => message.startsWith('CACHED '));
}

/** The sources that the client uploaded. */
export function listUploads({ log }: Built): readonly string[] {
  return log.flatMap((message) => /^Uploaded '(.*)'$/.exec(message)?.[1] ?? []);
}
