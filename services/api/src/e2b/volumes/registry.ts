import { randomUUID } from 'node:crypto';
import {
  buildTombstone,
  buildVolumeObject,
  findMountedVolume,
  formatVolumeObjectName,
  labels,
  listMountedVolumes,
  listPodVolumes,
  readVolumeObject,
  sandboxClaims,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { SandboxClaim, TeamVolume } from '@sandlot/api-types';
import { configMaps, isAlreadyExists, isConflict, isNotFound, isUnknownOutcome } from '@sandlot/kube';
import type { ConfigMap, KubeClient } from '@sandlot/kube';
import { notEnabled } from '../../errors/refusals.ts';
import { noVolume, takenVolumeName, templateVolume, tooManyVolumes, usedVolume } from '../../errors/volume-errors.ts';

export interface RegistryOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'listAll'>;
  /** Where the ConfigMaps of volumes are. No tenant has a right there. */
  readonly namespace: string;
  /** Volumes that a namespace may have. */
  readonly limit: number;
}

/** The volumes of a namespace. Throws an ApiError 403 where the installation has none. */
export function openRegistry(options: RegistryOptions | undefined, namespace: string): VolumeRegistry {
  if (options === undefined) throw notEnabled('volumes are');
  return new VolumeRegistry(options, namespace);
}

interface Found {
  readonly object: ConfigMap;
  readonly volume: TeamVolume;
}

/** The volumes of one namespace. It reads the API server, because another replica may have written a moment ago. */
class VolumeRegistry {
  readonly #options: RegistryOptions;
  readonly #namespace: string;

  constructor(options: RegistryOptions, namespace: string) {
    this.#options = options;
    this.#namespace = namespace;
  }

  /** All of them, by name. Rejects with a KubeError. */
  async list(): Promise<readonly TeamVolume[]> {
    const found = await this.#list();
    return found.map(({ volume }) => volume).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws an ApiError 404. */
  async get(id: string): Promise<TeamVolume> {
    return (await this.#get(id)).volume;
  }

  /** Undefined: no volume has that name. */
  async findByName(name: string): Promise<TeamVolume | undefined> {
    return (await this.#findObject(name))?.volume;
  }

  /** Throws an ApiError: 400 if the name is taken, 403 if the namespace has as many as it may have. */
  async create(name: string): Promise<TeamVolume> {
    const { client, namespace, limit } = this.#options;
    const present = await this.list();
    if (present.some((volume) => volume.name === name)) throw takenVolumeName(name);
    if (present.length >= limit) throw tooManyVolumes(limit);
    const volume = { id: randomUUID(), name, namespace: this.#namespace };
    const object = await this.#takeName(volume, () => client.create(configMaps, buildVolumeObject(volume, namespace)));
    // Others may have been created meanwhile. Each of those that came too late finds too many, itself included.
    if ((await this.list()).length > limit) {
      await this.#delete(object);
      throw tooManyVolumes(limit);
    }
    return volume;
  }

  /**
   * Deletes a volume, whose data the volume-controller removes. Throws an ApiError: 404, also if another request deleted it first, and
   * 409 while sandboxes or a template have it. The tombstone comes first: a process that ends between the two writes leaves what that controller
   * completes.
   */
  async remove(id: string): Promise<TeamVolume> {
    const { client, namespace } = this.#options;
    const { object, volume } = await this.#get(id);
    const used = await this.#countUses(id);
    if (used > 0) throw usedVolume(volume.name, used);
    const template = await this.#findTemplate(id);
    if (template !== undefined) throw templateVolume(volume.name, template);
    try {
      await client.create(configMaps, buildTombstone(volume, namespace));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    if (!(await this.#delete(object))) throw noVolume(id);
    return volume;
  }

  /** The API server is asked, because the cache may not have the claim of a create that another replica answered. */
  async #countUses(id: string): Promise<number> {
    const { items } = await this.#options.client.listAll(sandboxClaims, { namespace: this.#namespace });
    const hasVolume = (claim: SandboxClaim): boolean =>
      listMountedVolumes(claim).some((mounted) => mounted.id === id) ||
      (claim.spec.dynamicVolumes ?? []).some((mount) => findMountedVolume(mount) === id);
    return items.filter((claim) => claim.metadata.deletionTimestamp === undefined && hasVolume(claim)).length;
  }

  /** The name of a template whose sandboxes have the volume: a pool makes them at any time. */
  async #findTemplate(id: string): Promise<string | undefined> {
    const { items } = await this.#options.client.listAll(sandboxTemplates, { namespace: this.#namespace });
    return items.find(({ spec }) => listPodVolumes(spec.podTemplate.spec).includes(id))?.metadata.name;
  }

  /** The name is taken once its ConfigMap exists. After a lost answer that may be our own. */
  async #takeName({ id, name }: TeamVolume, create: () => Promise<ConfigMap>): Promise<ConfigMap> {
    try {
      return await create();
    } catch (error) {
      if (!isAlreadyExists(error) && !isUnknownOutcome(error)) throw error;
      const present = await this.#findObject(name);
      if (present?.volume.id === id) return present.object;
      if (!isAlreadyExists(error)) throw error;
    }
    throw takenVolumeName(name);
  }

  async #findObject(name: string): Promise<Found | undefined> {
    const { client, namespace } = this.#options;
    const key = { namespace, name: formatVolumeObjectName(this.#namespace, name) };
    const object = await client.find(configMaps, key);
    return object === undefined ? undefined : this.#read(object);
  }

  async #get(id: string): Promise<Found> {
    const found = (await this.#list()).find(({ volume }) => volume.id === id);
    if (found === undefined) throw noVolume(id);
    return found;
  }

  async #list(): Promise<readonly Found[]> {
    const { client, namespace } = this.#options;
    const { items } = await client.listAll(configMaps, {
      namespace,
      labelSelector: `${labels.tenant}=${this.#namespace}`,
    });
    return items.flatMap((object) => this.#read(object) ?? []);
  }

  /** A tombstone is no volume. */
  #read(object: ConfigMap): Found | undefined {
    const read = readVolumeObject(object);
    if (read === undefined || read.isTombstone || read.volume.namespace !== this.#namespace) return undefined;
    return { object, volume: read.volume };
  }

  /** False if it is gone. */
  async #delete({ metadata: { name = '', uid } }: ConfigMap): Promise<boolean> {
    const { client, namespace } = this.#options;
    try {
      await client.delete(configMaps, { namespace, name }, { uid });
      return true;
    } catch (error) {
      // Another volume may have its name by now.
      if (isNotFound(error) || isConflict(error)) return false;
      throw error;
    }
  }
}
