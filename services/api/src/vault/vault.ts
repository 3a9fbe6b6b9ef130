import { formatVaultSecretName, labels } from '@sandlot/api-types';
import { isAlreadyExists, isConflict, isNotFound, isUnknownOutcome, secrets } from '@sandlot/kube';
import type { KubeClient, Secret } from '@sandlot/kube';
import type { Clock } from '@sandlot/std';
import { noSecret, secretConflict, tooManySecrets } from '../errors/secret-errors.ts';
import { buildValuePatch, buildVaultSecret, createSecretId, isSecretId, readVaultSecret } from './vault-secret.ts';
import type { VaultSecret } from './vault-secret.ts';

export interface VaultOptions {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'listAll' | 'mergePatch'>;
  /** Where the secrets are. No tenant has a right there. */
  readonly vaultNamespace: string;
  /** Secrets that a namespace may have. */
  readonly secretsLimit: number;
  readonly clock: Pick<Clock, 'now'>;
}

/** A value for a secret, and what a client notes about it; undefined metadata: as before. */
export interface NewValue {
  readonly value: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

interface Found {
  readonly secret: Secret;
  readonly view: VaultSecret;
}

/** With more names one list is cheaper than a read of each. */
const FEW_NAMES = 8;
/** How often an update tries again after another one. */
const MAX_TRIES = 8;

/**
 * The secrets of one namespace. It reads the API server, because another replica may have written a moment ago. Methods throw
 * an ApiError, and reject with a KubeError.
 */
export class Vault {
  readonly #options: VaultOptions;
  readonly #namespace: string;

  constructor(options: VaultOptions, namespace: string) {
    this.#options = options;
    this.#namespace = namespace;
  }

  /** All of them, by name. */
  async list(): Promise<readonly VaultSecret[]> {
    const found = await this.#list({});
    return found.map(({ view }) => view).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws an ApiError 404. */
  async get(idOrName: string): Promise<VaultSecret> {
    return (await this.#get(idOrName)).view;
  }

  /** Which of these names, in lower case, no secret has. */
  async listMissing(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    if (names.length > FEW_NAMES) return this.#subtract(names, await this.list());
    const found = await Promise.all(names.map((name) => this.#findByName(name)));
    return this.#subtract(
      names,
      found.flatMap((one) => one?.view ?? []),
    );
  }

  /** Creates a secret. Throws an ApiError 409 if its name is taken, or the namespace has as many as it may have. */
  async create(name: string, { value, metadata = {} }: NewValue): Promise<VaultSecret> {
    const { client, vaultNamespace, secretsLimit } = this.#options;
    if ((await this.#findByName(name)) !== undefined) throw secretConflict();
    if ((await this.#list({})).length >= secretsLimit) throw tooManySecrets();
    const [id, namespace] = [createSecretId(), this.#namespace];
    const change = { id, name, namespace, version: 1, metadata, value, updatedAt: this.#now() };
    const created = await this.#takeName(id, name, () =>
      client.create(secrets, buildVaultSecret(change, vaultNamespace)),
    );
    // Others may have been created meanwhile. Each of those that came too late finds too many, itself included.
    if ((await this.#list({})).length > secretsLimit) {
      await this.#delete(created.secret);
      throw tooManySecrets();
    }
    return created.view;
  }

  /** Gives a secret a new version. Throws an ApiError 404. */
  async update(idOrName: string, { value, metadata }: NewValue): Promise<VaultSecret> {
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const { secret, view } = await this.#get(idOrName);
      const next = { ...view, version: view.version + 1, metadata: metadata ?? view.metadata, updatedAt: this.#now() };
      const patch = buildValuePatch({ ...next, namespace: this.#namespace, value }, secret);
      try {
        const written = await this.#options.client.mergePatch(secrets, this.#key(secret), patch);
        return this.#view(written)?.view ?? next;
      } catch (error) {
        if (isNotFound(error)) throw noSecret();
        if (isUnknownOutcome(error) && (await this.#isWritten(next))) return next;
        if (!isConflict(error)) throw error;
      }
    }
    throw secretConflict();
  }

  /** Throws an ApiError 404, also if another request deleted it first. */
  async remove(idOrName: string): Promise<VaultSecret> {
    const { secret, view } = await this.#get(idOrName);
    if (!(await this.#delete(secret))) throw noSecret();
    return view;
  }

  /** The name is taken once its Secret exists. After a lost answer that may be our own. */
  async #takeName(id: string, name: string, create: () => Promise<Secret>): Promise<Found> {
    try {
      const created = this.#view(await create());
      if (created !== undefined) return created;
    } catch (error) {
      if (!isAlreadyExists(error) && !isUnknownOutcome(error)) throw error;
      const present = await this.#findByName(name);
      if (present?.view.id === id) return present;
      if (!isAlreadyExists(error)) throw error;
    }
    throw secretConflict();
  }

  /** Whether this version of a secret is there, after a write whose outcome is unknown. */
  async #isWritten({ name, id, version, updatedAt }: VaultSecret): Promise<boolean> {
    const { view } = (await this.#findByName(name)) ?? {};
    return view?.id === id && view.version === version && view.updatedAt === updatedAt;
  }

  async #get(idOrName: string): Promise<Found> {
    const found = isSecretId(idOrName) ? await this.#findById(idOrName) : await this.#findByName(idOrName);
    if (found === undefined) throw noSecret();
    return found;
  }

  async #findById(id: string): Promise<Found | undefined> {
    const found = await this.#list({ [labels.vaultSecret]: id });
    return found.find(({ view }) => view.id === id);
  }

  async #findByName(name: string): Promise<Found | undefined> {
    const { client, vaultNamespace: namespace } = this.#options;
    const secret = await client.find(secrets, { namespace, name: formatVaultSecretName(this.#namespace, name) });
    const found = secret === undefined ? undefined : this.#view(secret);
    return found?.view.name === name.toLowerCase() ? found : undefined;
  }

  async #list(more: Readonly<Record<string, string>>): Promise<readonly Found[]> {
    const { client, vaultNamespace: namespace } = this.#options;
    const wanted = { [labels.tenant]: this.#namespace, ...more };
    const labelSelector = Object.entries(wanted)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const { items } = await client.listAll(secrets, { namespace, labelSelector });
    return items.flatMap((secret) => this.#view(secret) ?? []);
  }

  /** False if it is gone. */
  async #delete(secret: Secret): Promise<boolean> {
    try {
      await this.#options.client.delete(secrets, this.#key(secret), { uid: secret.metadata.uid });
      return true;
    } catch (error) {
      // Another one may have its name by now.
      if (isNotFound(error) || isConflict(error)) return false;
      throw error;
    }
  }

  #subtract(names: readonly string[], present: readonly VaultSecret[]): readonly string[] {
    const known = new Set(present.map(({ name }) => name));
    return names.filter((name) => !known.has(name));
  }

  #view(secret: Secret): Found | undefined {
    const view = readVaultSecret(secret, this.#namespace);
    return view === undefined ? undefined : { secret, view };
  }

  #key({ metadata: { name = '' } }: Secret) {
    return { namespace: this.#options.vaultNamespace, name };
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
