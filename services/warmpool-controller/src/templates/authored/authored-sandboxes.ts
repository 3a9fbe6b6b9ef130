import { EXTENSIONS_GROUP, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { controllerOf, keyOf } from '@sandlot/kube';
import type { Informer } from '@sandlot/kube';

/**
 * Whether the pod of a Sandbox carries no label of a template, so that no template's policy selects it. What the
 * sandbox-controller copies decides, not what the Sandbox says of itself: the label of one that no claim and no pool
 * made stays off its pod.
 */
export function isAuthored(sandbox: Sandbox): boolean {
  const given = sandbox.metadata.labels ?? {};
  if ((given[labels.templateRefHash] ?? '') === '') return true;
  const owner = controllerOf(sandbox);
  if (owner === undefined) return given[labels.claimName] === undefined;
  return !owner.apiVersion.startsWith(`${EXTENSIONS_GROUP}/`);
}

/** The directly authored Sandboxes of each namespace, kept as the watch shows them. */
export class AuthoredSandboxes {
  readonly #byNamespace = new Map<string, Map<string, Sandbox>>();

  /** `onTurn` hears of a namespace whose set, or the life of one in it, has changed. */
  constructor(sandboxes: Informer<Sandbox>, onTurn: (namespace: string) => void) {
    sandboxes.onChange(({ old, next }) => {
      const [before, after] = [authoredOf(old), authoredOf(next)];
      if (identityOf(before) === identityOf(after)) return;
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#of(after).set(keyOf(after), after);
      onTurn((next ?? old)?.metadata.namespace ?? '');
    });
  }

  /** In the order in which they were first seen. */
  in(namespace: string): Iterable<Sandbox> {
    return this.#byNamespace.get(namespace)?.values() ?? [];
  }

  /** All that have one. */
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
    known.delete(keyOf(sandbox));
    if (known.size === 0) this.#byNamespace.delete(sandbox.metadata.namespace ?? '');
  }
}

function authoredOf(sandbox: Sandbox | undefined): Sandbox | undefined {
  return sandbox !== undefined && isAuthored(sandbox) ? sandbox : undefined;
}

function identityOf(sandbox: Sandbox | undefined): string {
  return sandbox === undefined ? '' : `${sandbox.metadata.uid ?? ''} ${sandbox.metadata.deletionTimestamp ?? ''}`;
}
