import { isWithoutTemplate } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { getKey } from '@sandlot/kube';
import type { Informer } from '@sandlot/kube';

/** The directly authored Sandboxes of each namespace, as the watch shows them. */
export class AuthoredSandboxes {
  readonly #byNamespace = new Map<string, Map<string, Sandbox>>();

  /** Calls `onChange` with a namespace when one of its authored Sandboxes comes, goes or starts to terminate. */
  constructor(sandboxes: Informer<Sandbox>, onChange: (namespace: string) => void) {
    sandboxes.onChange(({ old, next }) => {
      const [before, after] = [findAuthored(old), findAuthored(next)];
      if (getIdentity(before) === getIdentity(after)) return;
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#of(after).set(getKey(after), after);
      onChange((next ?? old)?.metadata.namespace ?? '');
    });
  }

  /** In the order in which the watch showed them. */
  in(namespace: string): Iterable<Sandbox> {
    return this.#byNamespace.get(namespace)?.values() ?? [];
  }

  /** All namespaces with an authored Sandbox. */
  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  #of({ metadata: { namespace = '' } }: Sandbox): Map<string, Sandbox> {
    const known = this.#byNamespace.get(namespace) ?? new Map<string, Sandbox>();
    this.#byNamespace.set(namespace, known);
    return known;
  }

  #remove(sandbox: Sandbox): void {
    const known = this.#of(sandbox);
    known.delete(getKey(sandbox));
    if (known.size === 0) this.#byNamespace.delete(sandbox.metadata.namespace ?? '');
  }
}

function findAuthored(sandbox: Sandbox | undefined): Sandbox | undefined {
  return sandbox !== undefined && isWithoutTemplate(sandbox) ? sandbox : undefined;
}

function getIdentity(sandbox: Sandbox | undefined): string {
  return sandbox === undefined ? '' : `${sandbox.metadata.uid ?? ''} ${sandbox.metadata.deletionTimestamp ?? ''}`;
}
