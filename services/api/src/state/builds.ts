import { labels, sandboxTemplateBuilds } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { createOwnWrites, isNotFound, parseKey } from '@sandlot/kube';
import type { Informer, JsonObject, KubeClient, OwnWrites } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { ApiError } from '../errors/api-error.ts';
import { notEnabled } from '../errors/refusals.ts';
import { BY_NAMESPACE, BY_TEMPLATE_ID } from '../wiring/informers.ts';

export interface BuildsOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'list' | 'mergePatch'>;
  /** Undefined: the installation builds no templates. */
  readonly informer: Informer<SandboxTemplateBuild> | undefined;
  readonly clock: Clock;
  /** Builds of a namespace that have not ended. */
  readonly mostUnfinished: number;
}

const RETRY_SECONDS = 5;

/** The SandboxTemplateBuilds, this replica's own writes included. */
export class TemplateBuilds {
  readonly #options: BuildsOptions;
  readonly #objects: OwnWrites<SandboxTemplateBuild> | undefined;

  constructor(options: BuildsOptions) {
    this.#options = options;
    const { informer, clock } = options;
    if (informer !== undefined) this.#objects = createOwnWrites({ informer, clock });
  }

  /** Throws an ApiError 403 in an installation that builds no templates. */
  assertEnabled(): void {
    this.#requireObjects();
  }

  /** The build of that name, also one that the informer does not have yet. Rejects with a KubeError. */
  async find(namespace: string, name: string): Promise<SandboxTemplateBuild | undefined> {
    const objects = this.#requireObjects();
    const key = `${namespace}/${name}`;
    return withoutDeleted(objects.get(key) ?? (await this.#read(key)));
  }

  /** The build as the API server has it now. Rejects with a KubeError. */
  async readNow(namespace: string, name: string): Promise<SandboxTemplateBuild | undefined> {
    this.assertEnabled();
    return withoutDeleted(await this.#read(`${namespace}/${name}`));
  }

  /** Those of a template that this replica knows, in no order; none where no templates are built. */
  listOf(namespace: string, templateID: string): readonly SandboxTemplateBuild[] {
    const all = this.#objects?.listByIndex(BY_TEMPLATE_ID, `${namespace}/${templateID}`) ?? [];
    return [...all].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Those of a namespace with the id of a template, that this replica knows. */
  listNamespace(namespace: string): readonly SandboxTemplateBuild[] {
    const all = this.#objects?.listByIndex(BY_NAMESPACE, namespace) ?? [];
    return [...all].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Those of a template as the API server has them now; none where no templates are built. Rejects with a KubeError. */
  async listNow(namespace: string, templateID: string): Promise<readonly SandboxTemplateBuild[]> {
    if (this.#objects === undefined) return [];
    const labelSelector = `${labels.templateId}=${templateID}`;
    const { items } = await this.#options.client.list(sandboxTemplateBuilds, { namespace, labelSelector });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Throws an ApiError 429 while the namespace has as many builds that have not ended as it may have. */
  assertRoom(namespace: string): void {
    const { mostUnfinished } = this.#options;
    const unfinished = this.listNamespace(namespace).filter((build) => !hasEnded(build));
    if (unfinished.length < mostUnfinished) return;
    const message = `you have reached the maximum number of concurrent template builds (${mostUnfinished})`;
    throw new ApiError({ status: 429, message, headers: { 'Retry-After': String(RETRY_SECONDS) } });
  }

  /** Rejects with a KubeError. */
  async create(build: SandboxTemplateBuild): Promise<SandboxTemplateBuild> {
    const { client } = this.#options;
    return this.#requireObjects().write(formatKey(build), () => client.create(sandboxTemplateBuilds, build));
  }

  /** Rejects with a KubeError: Conflict where the patch names a version that is no longer the newest. */
  async patch(build: SandboxTemplateBuild, patch: JsonObject): Promise<SandboxTemplateBuild> {
    const { namespace, name = '' } = build.metadata;
    const { client } = this.#options;
    const call = (): Promise<SandboxTemplateBuild> =>
      client.mergePatch(sandboxTemplateBuilds, { namespace, name }, patch);
    return this.#requireObjects().write(formatKey(build), call);
  }

  /** Resolves if it is gone already; rejects with a KubeError. */
  async delete(build: SandboxTemplateBuild): Promise<void> {
    const { namespace, name = '', uid } = build.metadata;
    try {
      await this.#options.client.delete(sandboxTemplateBuilds, { namespace, name }, { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#objects?.recordDelete(build);
  }

  close(): void {
    this.#objects?.[Symbol.dispose]();
  }

  async #read(key: string): Promise<SandboxTemplateBuild | undefined> {
    const { client } = this.#options;
    return this.#requireObjects().read(key, () => client.find(sandboxTemplateBuilds, parseKey(key)));
  }

  #requireObjects(): OwnWrites<SandboxTemplateBuild> {
    if (this.#objects === undefined) throw notEnabled('template builds are');
    return this.#objects;
  }
}

export function hasEnded({ status }: SandboxTemplateBuild): boolean {
  return status?.phase === 'Ready' || status?.phase === 'Failed';
}

function withoutDeleted(build: SandboxTemplateBuild | undefined): SandboxTemplateBuild | undefined {
  return build?.metadata.deletionTimestamp === undefined ? build : undefined;
}

function formatKey({ metadata }: SandboxTemplateBuild): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
