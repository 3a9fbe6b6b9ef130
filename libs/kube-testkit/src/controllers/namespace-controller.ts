import type { Clock } from '@sandlot/std';
import type { ControlLoop } from './control-loops.ts';
import { deleteObject } from '../rules/deletion.ts';
import { setAt } from '../storage/api-object.ts';
import { getTarget } from '../storage/registry.ts';
import type { Located, Registry } from '../storage/registry.ts';
import type { Change } from '../storage/storage.ts';

/** Deletes the content of namespaces that are being deleted, then removes their finalizer. */
export class NamespaceController implements ControlLoop {
  readonly #registry: Registry;
  readonly #clock: Clock;

  constructor(registry: Registry, clock: Clock) {
    this.#registry = registry;
    this.#clock = clock;
  }

  react({ table, object }: Change): void {
    const definition = this.#registry.definitions.ofResource({ group: '', plural: 'namespaces' });
    const name = (table === definition.table ? object.metadata.name : object.metadata.namespace) ?? '';
    const namespace = this.#registry.storage.get(definition.table, name);
    if (namespace?.metadata.deletionTimestamp === undefined) return;
    const content = this.#listContent(name);
    for (const item of content.filter((held) => held.object.metadata.deletionTimestamp === undefined)) {
      deleteObject(this.#registry, getTarget(item), { propagationPolicy: 'Background', clock: this.#clock });
    }
    if (content.length > 0) return;
    const empty = structuredClone(namespace);
    setAt(empty, ['spec', 'finalizers'], []);
    this.#registry.overwrite(getTarget({ definition, object: namespace }), empty);
  }

  #listContent(namespace: string): Located[] {
    const { definitions, storage } = this.#registry;
    return definitions
      .all()
      .flatMap((definition) => [...storage.table(definition.table).values()].map((object) => ({ definition, object })))
      .filter(({ object }) => object.metadata.namespace === namespace);
  }
}
