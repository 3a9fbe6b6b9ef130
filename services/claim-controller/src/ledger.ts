import type { Sandbox, SandboxClaim } from '@sandlot/api-types';

/**
 * What one pass over a detached claim took and what of it was shown: should the claim go in the middle, its record goes
 * with it, and only this tells what was never given to anybody.
 */
export class Ledger {
  readonly #taken = new Map<string, Sandbox>();
  readonly #shown = new Set<string>();

  took(sandbox: Sandbox): void {
    this.#taken.set(sandbox.metadata.name ?? '', sandbox);
  }

  /** The claim was seen with this status, or left with it, or may have been. */
  showed({ status }: Pick<SandboxClaim, 'status'>): void {
    for (const { name } of status?.sandboxes ?? []) this.#shown.add(name);
  }

  unshown(): Sandbox[] {
    return [...this.#taken.values()].filter(({ metadata }) => !this.#shown.has(metadata.name ?? ''));
  }
}
