// Stands in for the template-builder: its port, and what it writes on builds and templates.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { annotations, labels, sandboxTemplateBuilds, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { createInformer } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { systemClock } from '@sandlot/std';
import { pageEntries } from '@sandlot/template-build';
import type { LogEntry, LogLevel } from '@sandlot/template-build';

/** How it answers an upload: `refuse` before it has read it, `hang` never. */
type Uploads = 'store' | 'refuse' | 'hang';

export class BuilderStandIn implements AsyncDisposable {
  /** Logs by the UID of the build. */
  readonly logs = new Map<string, LogEntry[]>();
  /** Archives by `namespace/hash`. */
  readonly files = new Map<string, Buffer>();
  /** Uploads that ended before their end. */
  broken = 0;
  uploads: Uploads = 'store';
  /** Answers nothing but 503. */
  isDown = false;
  /** The authorization of each request. */
  readonly seen: string[] = [];
  readonly #client: KubeClient;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(client: KubeClient) {
    this.#client = client;
  }

  static async start(client: KubeClient): Promise<BuilderStandIn> {
    const standIn = new BuilderStandIn(client);
    standIn.#server.listen(0, '127.0.0.1');
    await once(standIn.#server, 'listening');
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends a build with success, and makes its templates. */
  async finish(namespace: string, name: string, image = `registry/app@sha256:${'0'.repeat(64)}`): Promise<void> {
    const build = await this.#client.get(sandboxTemplateBuilds, { namespace, name });
    for (const wanted of build.spec.templates) await this.#publish(build, wanted, image);
    await this.end(namespace, name, { phase: 'Ready', reason: 'Built', message: 'Build finished, took 1s' });
  }

  /** Gives a build a status. */
  async end(namespace: string, name: string, status: Ending): Promise<void> {
    const { phase, reason, message, failedStep } = status;
    const at = new Date(systemClock.now()).toISOString();
    const isTrue = phase === 'Ready' ? 'True' : 'False';
    const conditions = [{ type: 'Ready', status: isTrue, reason, message, lastTransitionTime: at }];
    const finishedAt = phase === 'Building' ? {} : { finishedAt: at };
    const patch = { status: { phase, conditions, ...finishedAt, ...(failedStep === undefined ? {} : { failedStep }) } };
    await this.#client.mergePatch(sandboxTemplateBuilds, { namespace, name }, patch, { subresource: 'status' });
  }

  /** Does something with each build that has its steps, until the result is disposed of. */
  follow(act: (build: SandboxTemplateBuild) => Promise<void>): AsyncDisposable {
    const stop = new AbortController();
    const informer = createInformer<SandboxTemplateBuild>({ client: this.#client, resource: sandboxTemplateBuilds });
    informer.onChange(({ next }) => {
      if (next !== undefined && next.spec.paused !== true && next.status === undefined) void act(next);
    });
    const running = informer.run(stop.signal);
    return {
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await running;
      },
    };
  }

  async #publish(
    build: SandboxTemplateBuild,
    wanted: SandboxTemplateBuild['spec']['templates'][number],
    image: string,
  ): Promise<void> {
    const { namespace, uid = '', name: buildName = '' } = build.metadata;
    const resources = { limits: { cpu: '2', memory: '512Mi' } };
    const spec = {
      podTemplate: { spec: { containers: [{ name: 'sandbox', image, resources }] } },
      runtime: { inject: true },
      envVarsInjectionPolicy: 'Allowed' as const,
    };
    const metadata = {
      labels: { ...wanted.labels, [labels.builtBy]: 'template-build', [labels.templateBuild]: uid },
      annotations: { ...wanted.annotations, [annotations.buildName]: buildName },
    };
    const key = { namespace, name: wanted.name };
    const present = await this.#client.find(sandboxTemplates, key);
    if (present === undefined) await this.#client.create(sandboxTemplates, { metadata: { ...key, ...metadata }, spec });
    else await this.#client.mergePatch(sandboxTemplates, key, { metadata, spec });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://builder');
    this.seen.push(request.headers.authorization ?? '');
    const [, kind, first = '', second = ''] = pathname.split('/');
    if (this.isDown) response.writeHead(503).end('{"message":"Redis is away"}');
    else if (kind === 'logs') response.end(JSON.stringify(this.#readLog(first, searchParams)));
    else if (request.method === 'HEAD') response.writeHead(this.files.has(`${first}/${second}`) ? 200 : 404).end();
    else await this.#receive(`${first}/${second}`, request, response);
  }

  #readLog(uid: string, query: URLSearchParams): readonly LogEntry[] {
    return pageEntries(this.logs.get(uid) ?? [], {
      offset: Number(query.get('offset')),
      limit: Number(query.get('limit')),
      level: query.get('level') as LogLevel,
    });
  }

  async #receive(key: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.uploads === 'hang') return;
    if (this.uploads === 'refuse') {
      response.writeHead(400).end(JSON.stringify({ reason: 'NotAnArchive', message: 'the files are no tar' }));
      return;
    }
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.files.set(key, Buffer.concat(chunks));
      response.writeHead(204).end();
    } catch {
      this.broken += 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

export interface Ending {
  readonly phase: 'Building' | 'Ready' | 'Failed';
  readonly reason: string;
  readonly message: string;
  readonly failedStep?: string;
}
