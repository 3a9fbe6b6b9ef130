import type { SandboxTemplate } from '@sandlot/api-types';
import type { Refusal } from '../plan/snapshot.ts';

/**
 * The rules that the API server refused, by template and generation. Every change of a pool's counts starts a pass, and
 * none of them sends refused rules again before the template changes.
 */
export class Refusals {
  readonly #byKey = new Map<string, Refusal & { readonly subject: string }>();

  of(key: string, template: SandboxTemplate): Refusal | undefined {
    const refusal = this.#byKey.get(key);
    return refusal?.subject === formatSubject(template) ? refusal : undefined;
  }

  record(key: string, template: SandboxTemplate, message: string): void {
    this.#byKey.set(key, { subject: formatSubject(template), message });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}

function formatSubject({ metadata: { uid = '', generation = 0 } }: SandboxTemplate): string {
  return `${uid} ${generation}`;
}
