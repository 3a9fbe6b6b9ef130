import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { json } from 'node:stream/consumers';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { PlaneError } from './plane.ts';
import type {
  Assembly,
  BuiltImage,
  FilesPlace,
  ImagePlane,
  ImageSource,
  ImageStore,
  Layer,
  ResolvedImage,
} from './plane.ts';

const NOT_FOUND = 404;
const refusal = z.object({ reason: z.string(), message: z.string() });
/** Go writes an absent map as null. */
const labels = z.record(z.string(), z.string()).nullish();
const described = z.object({ digest: z.string(), config: z.object({ labels }) });
const layerSchema = z.object({ digest: z.string(), diffID: z.string(), size: z.number() });
const composed = z.object({ digest: z.string() });
const tagList = z.object({ tags: z.array(z.string()), whole: z.boolean() });
const deletion = z.object({ kept: z.boolean() });

interface Call {
  readonly method: 'DELETE' | 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly path: string;
  readonly body?: unknown;
  readonly stream?: Readable;
  readonly signal: AbortSignal;
}

export interface PlaneClientOptions {
  readonly socketPath: string;
  /** Begins the names of all images of builds, such as `registry.example.com/sandlot`. */
  readonly registry: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** The image plane beside this process, over its Unix socket. */
export class PlaneClient implements ImagePlane, ImageStore {
  readonly #o: PlaneClientOptions;

  constructor(options: PlaneClientOptions) {
    this.#o = options;
  }

  async resolve(source: ImageSource, signal: AbortSignal): Promise<ResolvedImage> {
    const { digest, config } = described.parse(
      await this.#ask({ method: 'POST', path: '/v1/resolve', body: source, signal }),
    );
    return { digest, labels: config.labels ?? {} };
  }

  async pushLayer(repository: string, tar: Readable, signal: AbortSignal): Promise<Layer> {
    return layerSchema.parse(
      await this.#ask({ method: 'PUT', path: withQuery('/v1/layers', { repository }), stream: tar, signal }),
    );
  }

  async assemble(assembly: Assembly, signal: AbortSignal): Promise<BuiltImage> {
    const body = describeComposition(assembly, this.#o.clock.now());
    const { digest } = composed.parse(await this.#ask({ method: 'POST', path: '/v1/images', body, signal }));
    return this.#nameImage(assembly.repository, { digest, labels: assembly.labels ?? {} });
  }

  async findTag(repository: string, tag: string, signal: AbortSignal): Promise<BuiltImage | undefined> {
    const path = withQuery('/v1/tags', { reference: `${repository}:${tag}` });
    const response = await this.#send({ method: 'GET', path, signal });
    if (response.statusCode === NOT_FOUND) {
      response.resume();
      return undefined;
    }
    const { digest, config } = described.parse(await readJson(response));
    return this.#nameImage(repository, { digest, labels: config.labels ?? {} });
  }

  async listTags(repository: string, signal: AbortSignal): Promise<z.output<typeof tagList>> {
    return tagList.parse(await this.#ask({ method: 'GET', path: withQuery('/v1/tags/all', { repository }), signal }));
  }

  async deleteImage(reference: string, signal: AbortSignal): Promise<z.output<typeof deletion>> {
    return deletion.parse(await this.#ask({ method: 'DELETE', path: withQuery('/v1/images', { reference }), signal }));
  }

  #nameImage(repository: string, { digest, labels: given }: ResolvedImage): BuiltImage {
    return { image: `${this.#o.registry}/${repository}@${digest}`, digest, labels: given };
  }

  async openFiles(place: FilesPlace, signal: AbortSignal): Promise<Readable> {
    const response = await this.#send({
      method: 'GET',
      path: formatFilesPath(place),
      signal,
    });
    await refuse(response);
    return response;
  }

  async hasFiles(place: FilesPlace, signal: AbortSignal): Promise<boolean> {
    const response = await this.#send({ method: 'HEAD', path: formatFilesPath(place), signal });
    response.resume();
    if (response.statusCode === NOT_FOUND) return false;
    await refuse(response);
    return true;
  }

  async keepFiles(place: FilesPlace, archive: Readable, signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'PUT', path: formatFilesPath(place), stream: archive, signal });
  }

  async #ask(call: Call): Promise<unknown> {
    return readJson(await this.#send(call));
  }

  async #send({ method, path, body, stream, signal }: Call): Promise<IncomingMessage> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const outgoing = request({ socketPath: this.#o.socketPath, method, path, headers, signal });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve);
      outgoing.once('error', reject);
    });
    if (stream === undefined) outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    // The plane may answer before it has read all: then the answer says why.
    else void pipeline(stream, outgoing, { signal }).catch((error: unknown) => outgoing.destroy(toError(error)));
    return answered;
  }
}

/** Images of ours run as root: the daemon has to become the user of each process. */
function describeComposition({ base, repository, tag, layer, labels: added, step }: Assembly, nowMs: number): object {
  return {
    base,
    target: `${repository}:${tag}`,
    layers: layer === undefined ? [] : [layer],
    changes: { user: '0:0', workdir: '/', labels: added ?? {} },
    history: step === undefined ? [] : [{ createdBy: step, empty: layer === undefined }],
    created: new Date(nowMs).toISOString(),
  };
}

function formatFilesPath({ repository, filesHash }: FilesPlace): string {
  return withQuery('/v1/files', { repository, key: filesHash });
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(query).toString()}`;
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  await refuse(response);
  return json(response);
}

/** Throws a PlaneError for an answer that is no success. */
async function refuse(response: IncomingMessage): Promise<void> {
  const { statusCode = 0 } = response;
  if (statusCode >= 200 && statusCode < 300) return;
  const { data } = refusal.safeParse(await json(response).catch(() => undefined));
  throw new PlaneError(data?.reason ?? 'unknown', data?.message ?? `the image plane answered ${statusCode}`);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
