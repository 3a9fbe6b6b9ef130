import { createInformer, secrets } from '@sandlot/kube';
import type { Informer, InformerOptions, Secret } from '@sandlot/kube';
import { API_KEY_LABEL, parseKeySecret } from './api-key.ts';
import type { ApiKey } from './api-key.ts';
import { hashApiKey, isApiKey, isSameDigest } from './tokens.ts';

/** The keys of the installation, as of the last event of the watch. */
export interface KeyRing {
  /** The key with that text; undefined when it is unknown or revoked. It takes equally long for every wrong text. */
  find(text: string): ApiKey | undefined;
  findById(id: string): ApiKey | undefined;
  list(): readonly ApiKey[];
}

export interface WatchedKeyRing extends KeyRing {
  /** The caller that creates the ring runs this informer. */
  readonly informer: Informer<Secret>;
}

export type KeyRingOptions = Pick<InformerOptions<Secret>, 'client' | 'clock' | 'random' | 'metrics' | 'log'> & {
  /** The namespace of the keys' Secrets. */
  readonly namespace: string;
  /** Called with the name of a Secret that has the label but holds no key. */
  readonly onMalformed?: ((name: string) => void) | undefined;
};

/** A ring of the keys in one namespace, found by their label. */
export function watchKeys({ onMalformed, namespace, ...options }: KeyRingOptions): WatchedKeyRing {
  const informer = createInformer<Secret>({
    ...options,
    namespaces: [namespace],
    resource: secrets,
    labelSelector: `${API_KEY_LABEL}=true`,
  });
  const ring = new MapRing();
  informer.onChange(({ key: name, next }) => {
    const key = next === undefined ? undefined : parseKeySecret(next);
    if (next !== undefined && key === undefined) onMalformed?.(name);
    ring.set(name, key);
  });
  return {
    informer,
    find: (text) => ring.find(text),
    findById: (id) => ring.findById(id),
    list: () => ring.list(),
  };
}

/**
 * Keys by their digest. An attacker cannot choose the digest of the text that he tries, so the time of the look-up in the
 * map reveals nothing about the digests in it. The comparison after it takes constant time, too.
 */
export class MapRing implements KeyRing {
  readonly #byName = new Map<string, ApiKey>();
  readonly #byHash = new Map<string, ApiKey>();
  readonly #byId = new Map<string, ApiKey>();

  /** Replaces the key of that Secret; undefined removes it. */
  set(name: string, key: ApiKey | undefined): void {
    const before = this.#byName.get(name);
    if (before !== undefined) {
      this.#byHash.delete(before.hash);
      this.#byId.delete(before.id);
      this.#byName.delete(name);
    }
    if (key === undefined) return;
    this.#byName.set(name, key);
    this.#byHash.set(key.hash, key);
    this.#byId.set(key.id, key);
  }

  find(text: string): ApiKey | undefined {
    const hash = hashApiKey(text);
    const key = this.#byHash.get(hash);
    return isApiKey(text) && key !== undefined && isSameDigest(key.hash, hash) ? key : undefined;
  }

  findById(id: string): ApiKey | undefined {
    return this.#byId.get(id);
  }

  list(): readonly ApiKey[] {
    return [...this.#byName.values()];
  }
}
