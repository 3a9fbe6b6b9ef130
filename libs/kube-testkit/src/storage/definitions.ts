import type { KubeObject, Resource } from '@sandlot/kube';
import type { GroupResource } from '../server/api-error.ts';
import type { ApiObject } from './api-object.ts';
import { omit } from './api-object.ts';
import { builtinResources } from './builtins.ts';
import type { BuiltinResource, Definition, FakeResource } from './served-resource.ts';

/** The served resources: the built-in ones and those registered for one server. */
export class Definitions {
  readonly #byTable = new Map<string, Definition>();

  constructor(custom: readonly (FakeResource | Resource<KubeObject>)[]) {
    for (const builtin of builtinResources) this.#add(builtin, builtin);
    for (const entry of custom) this.#add('resource' in entry ? entry : { resource: entry }, undefined);
  }

  find(group: string, version: string, plural: string): Definition | undefined {
    const definition = this.#byTable.get(formatTable({ group, plural }));
    return definition?.versions.includes(version) === true ? definition : undefined;
  }

  /** Finds a resource in any version. */
  ofResource(resource: Pick<GroupResource, 'group' | 'plural'>): Definition {
    const definition = this.#byTable.get(formatTable(resource));
    if (definition === undefined) throw new Error(`the fake API server does not serve ${formatTable(resource)}`);
    return definition;
  }

  ofKind(group: string, kind: string): Definition | undefined {
    return this.all().find((definition) => definition.group === group && definition.kind === kind);
  }

  ofTable(table: string): Definition | undefined {
    return this.#byTable.get(table);
  }

  all(): Definition[] {
    return [...this.#byTable.values()];
  }

  /** A version registered later is added to the resource and overrides the options that it sets. */
  #add(entry: FakeResource, builtin: BuiltinResource | undefined): void {
    const { group, version, plural } = entry.resource;
    const table = formatTable({ group, plural });
    const known = this.#byTable.get(table) ?? createFirstVersion(entry.resource, builtin);
    const versions = [...known.versions, version];
    this.#byTable.set(table, { ...known, ...getOverrides(entry), versions });
  }
}

function createFirstVersion(
  { group, plural, kind, namespaced }: Resource<KubeObject>,
  builtin: BuiltinResource | undefined,
): Definition {
  return {
    table: formatTable({ group, plural }),
    group,
    plural,
    kind,
    namespaced,
    versions: [],
    builtin: builtin !== undefined,
    status: true,
    scale: undefined,
    selectableFields: [],
    generation: true,
    graceful: false,
    admit: () => undefined,
    defaults: () => undefined,
    validate: () => [],
  };
}

function getOverrides(entry: FakeResource | BuiltinResource): Partial<Definition> {
  const set = Object.entries(omit(entry, ['resource'])).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set);
}

function formatTable({ group, plural }: Pick<GroupResource, 'group' | 'plural'>): string {
  return `${group}/${plural}`;
}

/** The storage key of an object of this kind. */
export function formatStorageKey(definition: Definition, namespace: string | undefined, name: string): string {
  return definition.namespaced ? `${namespace ?? ''}/${name}` : name;
}

/** The object as seen by clients of one version. */
export function present(definition: Definition, version: string, object: ApiObject): ApiObject {
  const apiVersion = definition.group === '' ? version : `${definition.group}/${version}`;
  return { ...object, apiVersion, kind: definition.kind };
}
