import type { Readable } from 'node:stream';

/** Credentials for the registry of a tenant's image, as the Secret of the tenant has them. They are never logged. */
export type RegistryCredentials = Readonly<Record<string, string>>;

export interface ImageSource {
  readonly image: string;
  readonly credentials?: RegistryCredentials | undefined;
  /** The operator named the image, or a build made it: it may be in the registry of the installation. */
  readonly trusted?: boolean | undefined;
}

export interface ResolvedImage {
  readonly digest: string;
  /** Labels of its configuration. Only those of an image that a build made can be believed. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface Layer {
  readonly digest: string;
  readonly diffID: string;
  readonly size: number;
}

/** An image of ours, by digest, with the labels of its configuration. */
export interface BuiltImage {
  /** `registry/repository@digest`, as a Pod names it. */
  readonly image: string;
  readonly digest: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface Assembly {
  readonly base: ImageSource;
  /** Below the prefix of the registry. */
  readonly repository: string;
  readonly tag: string;
  /** One at most: each step has its own image. */
  readonly layer?: Layer | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The step, for the history of the image. Absent: nothing was done. */
  readonly step?: string | undefined;
}

/** What the image plane says no to, with a reason that the author of a template can act on. */
export class PlaneError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'PlaneError';
    this.reason = reason;
  }

  /** Whether the same request may succeed a little later. */
  get isPassing(): boolean {
    return ['unreachable', 'busy', 'failed', 'unknown'].includes(this.reason);
  }
}

/** Where an archive is. */
export interface FilesPlace {
  readonly repository: string;
  readonly filesHash: string;
}

/** What the registry of the installation has. */
export interface ImageStore {
  /** The tags of a repository; `whole` is false where there are more than one answer has. */
  listTags(
    repository: string,
    signal: AbortSignal,
  ): Promise<{ readonly tags: readonly string[]; readonly whole: boolean }>;
  findTag(repository: string, tag: string, signal: AbortSignal): Promise<BuiltImage | undefined>;
  /** Deletes an image by digest, with all its tags. `kept`: the registry deletes none. One that is not there is no error. */
  deleteImage(reference: string, signal: AbortSignal): Promise<{ readonly kept: boolean }>;
}

/** What puts images together: no process that reads tenants' bytes holds rights on the cluster. */
export interface ImagePlane {
  /** The digest that the reference has now. */
  resolve(source: ImageSource, signal: AbortSignal): Promise<ResolvedImage>;
  /** Pushes a tar of changed files as a layer. */
  pushLayer(repository: string, tar: Readable, signal: AbortSignal): Promise<Layer>;
  assemble(assembly: Assembly, signal: AbortSignal): Promise<BuiltImage>;
  findTag(repository: string, tag: string, signal: AbortSignal): Promise<BuiltImage | undefined>;
  openFiles(place: FilesPlace, signal: AbortSignal): Promise<Readable>;
  hasFiles(place: FilesPlace, signal: AbortSignal): Promise<boolean>;
  /** Keeps an archive under its hash. It replaces the one before when all of it has come. */
  keepFiles(place: FilesPlace, archive: Readable, signal: AbortSignal): Promise<void>;
}
