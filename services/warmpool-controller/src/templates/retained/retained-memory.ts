import { findTemplateOfPolicy } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import type { Informer, NetworkPolicy } from '@sandlot/kube';

/** What this process has seen of policies that outlive their templates, and that no object says. */
export class RetainedMemory {
  readonly #deleted = new Map<string, NetworkPolicy>();
  readonly #dismissed = new Set<string>();
  readonly #unusedSinceMs = new Map<string, number>();
  readonly #monotonic: () => number;

  constructor(policies: Informer<NetworkPolicy>, monotonic: () => number) {
    this.#monotonic = monotonic;
    policies.onChange(({ old, next }) => {
      if (next !== undefined) this.#deleted.delete(getKey(next));
      else if (old !== undefined) this.#recordDeleted(old);
    });
  }

  #recordDeleted(policy: NetworkPolicy): void {
    const isOurs = this.#dismissed.delete(policy.metadata.uid ?? '');
    if (!isOurs && findTemplateOfPolicy(policy) !== undefined) this.#deleted.set(getKey(policy), policy);
  }

  /** This controller is about to delete the policy, so it must not come back when the template goes. */
  dismiss({ metadata: { uid = '' } }: NetworkPolicy): void {
    this.#dismissed.add(uid);
  }

  /** A policy as it was before its deletion; undefined while it exists, or if this process did not see it. */
  findDeleted(policyKey: string): NetworkPolicy | undefined {
    return this.#deleted.get(policyKey);
  }

  /** For how many milliseconds in a row the template has had no Sandboxes. */
  measureUnusedMs(templateKey: string, hasSandboxes: boolean): number {
    if (hasSandboxes) this.#unusedSinceMs.delete(templateKey);
    const now = this.#monotonic();
    const since = hasSandboxes ? now : (this.#unusedSinceMs.get(templateKey) ?? now);
    if (!hasSandboxes) this.#unusedSinceMs.set(templateKey, since);
    return now - since;
  }

  forget(templateKey: string, policyKeys: readonly string[]): void {
    this.#unusedSinceMs.delete(templateKey);
    for (const key of policyKeys) this.#deleted.delete(key);
  }
}
