import type { SandboxTemplate } from '@sandlot/api-types';

/** The API server does not take the rules of a template; what it said. */
export interface Refusal {
  readonly message: string;
}

/** Rules that were refused are not sent again before the template changes: a pass comes with every count of a pool. */
export class Refusals {
  readonly #byKey = new Map<string, Refusal & { readonly about: string }>();

  of(key: string, template: SandboxTemplate): Refusal | undefined {
    const refusal = this.#byKey.get(key);
    return refusal?.about === subjectOf(template) ? refusal : undefined;
  }

  record(key: string, template: SandboxTemplate, message: string): void {
    this.#byKey.set(key, { about: subjectOf(template), message });
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}

function subjectOf({ metadata: { uid = '', generation = 0 } }: SandboxTemplate): string {
  return `${uid} ${generation}`;
}
