import type { KubeClient } from '@sandlot/kube';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import { createKey, listKeys, renameKey, revokeKey, revokeUnlessLastAdmin, VIA_API } from '@sandlot/tenancy';
import type { ApiKey, KeyPlace, KeyRing } from '@sandlot/tenancy';
import { notFound, notServed } from '../../errors/api-error.ts';
import { conflict } from '../../errors/refusals.ts';
import type { ClusterState } from '../../state/cluster-state.ts';
import { deriveKeyUuid } from './team-key.ts';

export interface TeamKeysDeps {
  readonly client: KubeClient;
  readonly keysNamespace: string;
  /** Those that keys of tenants may be for. */
  readonly namespaces: ServedNamespaces;
  readonly keys: Pick<KeyRing, 'findById'>;
  readonly state: Pick<ClusterState, 'waiters'>;
}

/** Whose keys, and who asks. */
export interface KeysOf {
  readonly namespace: string;
  readonly admin: ApiKey;
  readonly signal: AbortSignal;
}

/** How long an answer waits until the watch of this replica shows the change. */
const SHOWN_WITHIN_MS = 5_000;

/** The API keys of one namespace, from the same Secrets as `/api/v1/keys`. Everything rejects with a KubeError. */
export class TeamKeys {
  readonly #deps: TeamKeysDeps;

  constructor(deps: TeamKeysDeps) {
    this.#deps = deps;
  }

  /** The oldest first. */
  async list(namespace: string): Promise<readonly ApiKey[]> {
    return (await listKeys(this.#buildPlace())).filter((key) => key.namespace === namespace);
  }

  /** A new key of the role tenant. Throws an ApiError 403 for a namespace that is not served. */
  async create(name: string, of: KeysOf): Promise<{ readonly key: ApiKey; readonly text: string }> {
    const { namespace, admin } = of;
    if (!isServed(this.#deps.namespaces, namespace)) throw notServed(namespace);
    const team = namespace === admin.namespace ? admin.team : namespace;
    const input = { namespace, team, role: 'tenant', description: name, limits: {} } as const;
    const created = await createKey(this.#buildPlace(admin), input);
    await this.#waitUntil(of, () => this.#deps.keys.findById(created.key.id) !== undefined);
    return created;
  }

  /** Throws an ApiError 404. Returns the key's own id. */
  async rename(uuid: string, name: string, of: KeysOf): Promise<string> {
    const { id } = await this.#find(uuid, of);
    if (!(await renameKey(this.#buildPlace(of.admin), id, name))) throw noKey(uuid);
    return id;
  }

  /** Throws an ApiError 404, and 409 for the last key of the role admin. Returns the key's own id. */
  async revoke(uuid: string, of: KeysOf): Promise<string> {
    const { id, role } = await this.#find(uuid, of);
    const place = this.#buildPlace(of.admin);
    if (role === 'admin') {
      const outcome = await revokeUnlessLastAdmin(place, id);
      if (outcome === 'last') throw conflict('the last administrator key cannot be deleted');
      if (outcome === 'absent') throw noKey(uuid);
    } else if (!(await revokeKey(place, id))) {
      throw noKey(uuid);
    }
    await this.#waitUntil(of, () => this.#deps.keys.findById(id) === undefined);
    return id;
  }

  async #find(uuid: string, { namespace }: KeysOf): Promise<ApiKey> {
    const found = (await this.list(namespace)).find(({ id }) => deriveKeyUuid(id) === uuid.toLowerCase());
    if (found === undefined) throw noKey(uuid);
    return found;
  }

  #buildPlace(admin?: ApiKey): KeyPlace & { readonly by: string } {
    const { client, keysNamespace } = this.#deps;
    return { client, namespace: keysNamespace, by: VIA_API + (admin?.id ?? '') };
  }

  async #waitUntil({ signal }: KeysOf, isShown: () => boolean): Promise<void> {
    const look = (): true | undefined => (isShown() ? true : undefined);
    await this.#deps.state.waiters.waitUntil({ keys: ['keys'], look, timeoutMs: SHOWN_WITHIN_MS, signal });
  }
}

function noKey(uuid: string): Error {
  return notFound(`API key '${uuid}' was not found`);
}
