// The memory of a sandbox that sleeps: the SandboxSnapshot from which its next start continues.
import {
  isHibernationOf,
  isRestorable,
  nameHashSelector,
  needsHibernation,
  sandboxSnapshots,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';

/** Reads and deletes saved memory at the API server. A Sandbox that does not hibernate costs no request. */
export class SavedMemory {
  readonly #client: Pick<KubeClient, 'list' | 'delete'>;
  /** Whether the installation saves memory at all; without it the API has no right to look. */
  readonly isEnabled: boolean;

  constructor(client: Pick<KubeClient, 'list' | 'delete'>, isEnabled: boolean) {
    this.#client = client;
    this.isEnabled = isEnabled;
  }

  /** Whether the next start of the Sandbox continues from saved memory. */
  async has(sandbox: Sandbox): Promise<boolean> {
    return (await this.#list(sandbox)).length > 0;
  }

  /** Deletes what is saved, so that the Sandbox boots at its next start. */
  async drop(sandbox: Sandbox): Promise<void> {
    for (const { metadata } of await this.#list(sandbox)) {
      const { namespace, name = '', uid } = metadata;
      try {
        await this.#client.delete(sandboxSnapshots, { namespace, name }, { uid });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  async #list(sandbox: Sandbox): Promise<SandboxSnapshot[]> {
    if (!this.isEnabled || !needsHibernation(sandbox.spec)) return [];
    const { namespace, name = '' } = sandbox.metadata;
    const { items } = await this.#client.list(sandboxSnapshots, { namespace, labelSelector: nameHashSelector(name) });
    return items.filter((snapshot) => isHibernationOf(snapshot, sandbox) && isRestorable(snapshot));
  }
}
