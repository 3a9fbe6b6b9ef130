// What a sandbox that sleeps has kept: the SandboxSnapshot from which its next start goes on.
import {
  annotations,
  hasWantedMemory,
  isHibernationOf,
  isRestorable,
  nameHashSelector,
  needsHibernation,
  sandboxSnapshots,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';

/** Reads and gives up saved memory at the API server. A Sandbox that does not hibernate costs no request. */
export class SavedMemory {
  readonly #client: Pick<KubeClient, 'list' | 'delete'>;
  /** Whether the installation saves memory at all; without it the API has no right to look. */
  readonly isEnabled: boolean;

  constructor(client: Pick<KubeClient, 'list' | 'delete'>, isEnabled: boolean) {
    this.#client = client;
    this.isEnabled = isEnabled;
  }

  /** Whether a suspension of the Sandbox saves something besides its volumes. */
  isExpected({ spec }: Sandbox): boolean {
    return this.isEnabled && needsHibernation(spec);
  }

  /** Whether the next start of the Sandbox goes on from memory, or from files alone; undefined: neither was kept. */
  async find(sandbox: Sandbox): Promise<'memory' | 'files' | undefined> {
    const kept = await this.#list(sandbox);
    if (kept.some((snapshot) => hasWantedMemory(snapshot, sandbox))) return 'memory';
    return kept.length > 0 ? 'files' : undefined;
  }

  /**
   * Gives up what is saved of the memory, so that the Sandbox boots at its next start: with its files where they were kept too.
   * These need the patch of the Sandbox that it resolves with; undefined: nothing is left to do.
   */
  async discard(sandbox: Sandbox): Promise<JsonObject | undefined> {
    const memories = (await this.#list(sandbox)).filter((snapshot) => hasWantedMemory(snapshot, sandbox));
    for (const snapshot of memories) if (!hasFiles(snapshot)) await this.#delete(snapshot);
    const [left] = memories.filter(hasFiles);
    return left === undefined
      ? undefined
      : { metadata: { annotations: { [annotations.unwantedMemory]: left.metadata.uid ?? '' } } };
  }

  async #delete({ metadata: { namespace, name = '', uid } }: SandboxSnapshot): Promise<void> {
    try {
      await this.#client.delete(sandboxSnapshots, { namespace, name }, { uid });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /**
   * Whether a Sandbox without a pause is being saved, or waits to go on from what was saved: its node is being emptied.
   * No daemon answers then.
   */
  async isMoving(sandbox: Sandbox): Promise<boolean> {
    return (await this.#listAll(sandbox)).some(({ metadata, status }) => {
      const isOver = status?.phase === 'Failed' || status?.restore?.state === 'Restored';
      return metadata.deletionTimestamp === undefined && !isOver;
    });
  }

  async #list(sandbox: Sandbox): Promise<SandboxSnapshot[]> {
    return (await this.#listAll(sandbox)).filter(isRestorable);
  }

  async #listAll(sandbox: Sandbox): Promise<SandboxSnapshot[]> {
    if (!this.isExpected(sandbox)) return [];
    const { namespace, name = '' } = sandbox.metadata;
    const { items } = await this.#client.list(sandboxSnapshots, { namespace, labelSelector: nameHashSelector(name) });
    return items.filter((snapshot) => isHibernationOf(snapshot, sandbox));
  }
}

/** A start from another Sandbox has its files in its memory alone. */
function hasFiles({ spec, status }: SandboxSnapshot): boolean {
  return status?.hasFiles === true && spec.copyOf === undefined;
}
