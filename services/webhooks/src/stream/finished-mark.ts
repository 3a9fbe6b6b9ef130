import { configMaps, isAlreadyExists, isNotFound } from '@sandlot/kube';
import type { ConfigMap, KubeClient } from '@sandlot/kube';
import type { Place } from '../plan/snapshot.ts';
import { formatPlace, parsePlace } from './place.ts';

const NAME = 'webhooks-finished';
const FIELD = 'place';

/**
 * The place in the stream up to which every delivery has ended, in a ConfigMap. Redis may lose what it has: the events behind the mark
 * are then read, and delivered, again.
 */
export class FinishedMark {
  readonly #client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>;
  readonly #namespace: string;
  #written = '';

  constructor(client: Pick<KubeClient, 'create' | 'find' | 'mergePatch'>, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async read(): Promise<Place | undefined> {
    const found = await this.#client.find(configMaps, { namespace: this.#namespace, name: NAME });
    return parsePlace(found?.data?.[FIELD] ?? '');
  }

  /** Writes nothing if this process wrote the same before. */
  async write(place: Place): Promise<void> {
    const text = formatPlace(place);
    if (text === this.#written) return;
    const [namespace, data] = [this.#namespace, { [FIELD]: text }];
    try {
      await this.#client.mergePatch(configMaps, { namespace, name: NAME }, { data });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#create({ metadata: { namespace, name: NAME }, data });
    }
    this.#written = text;
  }

  async #create(map: ConfigMap): Promise<void> {
    try {
      await this.#client.create(configMaps, map);
    } catch (error) {
      // Another leader made it: the next write is a patch.
      if (!isAlreadyExists(error)) throw error;
    }
  }
}
