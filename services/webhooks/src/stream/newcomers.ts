import type { Webhook } from '@sandlot/team-events';

/** So long a webhook is new: longer than any watch, or change of the leader, takes to show it. */
const NEW_MS = 120_000;

/**
 * Webhooks of which this process learned a moment ago. A pass that ran before the watch showed them may have read events that are
 * theirs, so the next one looks back to when they were registered.
 */
export class Newcomers {
  readonly #createdMs = new Map<string, number>();

  /** Returns whether the webhook is new. Replicas that do not lead keep it too: one of them may lead before it is old. */
  add({ id, createdAt }: Pick<Webhook, 'id' | 'createdAt'>, nowMs: number): boolean {
    for (const [each, createdMs] of this.#createdMs) if (!isNew(createdMs, nowMs)) this.#createdMs.delete(each);
    const createdMs = Date.parse(createdAt);
    if (!isNew(createdMs, nowMs)) return false;
    this.#createdMs.set(id, createdMs);
    return true;
  }

  /** With the time of their registration, epoch milliseconds. */
  list(): readonly { readonly id: string; readonly createdMs: number }[] {
    return [...this.#createdMs].map(([id, createdMs]) => ({ id, createdMs }));
  }

  /** Their events of before are queued. */
  settle(ids: readonly string[]): void {
    for (const id of ids) this.#createdMs.delete(id);
  }
}

function isNew(createdMs: number, nowMs: number): boolean {
  return createdMs > nowMs - NEW_MS;
}
