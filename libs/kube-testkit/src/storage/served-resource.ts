import type { KubeObject, Resource } from '@sandlot/kube';
import type { GroupResource, StatusCause } from '../server/api-error.ts';
import type { ApiObject } from './api-object.ts';

/** Where the scale subresource reads and writes; paths such as `['spec', 'replicas']`. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly labelSelector?: readonly string[] | undefined;
}

/** A resource the fake serves. The defaults are those of a custom resource with a status subresource. */
export interface FakeResource {
  /** Several versions of one resource share their objects; only `apiVersion` is rewritten. */
  readonly resource: Resource<KubeObject>;
  /** Default true: the main endpoint ignores status, `/status` ignores everything else. */
  readonly status?: boolean | undefined;
  readonly scale?: ScalePaths | undefined;
  /** Fields that field selectors may name, beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: readonly string[] | undefined;
  /** Fills defaults into a new or changed object, in place, before validation. */
  readonly defaults?: ((object: ApiObject) => void) | undefined;
  /** Why the object is refused (422); `old` is undefined on create. Stands in for the schema and its CEL rules. */
  readonly validate?: ((object: ApiObject, old: ApiObject | undefined) => readonly StatusCause[]) | undefined;
}

/** A served resource with everything decided. */
export interface Definition extends GroupResource {
  readonly table: string;
  readonly namespaced: boolean;
  /** All served versions; objects are stored without one. */
  readonly versions: readonly string[];
  /** Built-in kinds are written a little differently: list items carry no kind, DELETE answers with the object. */
  readonly builtin: boolean;
  readonly status: boolean;
  readonly scale: ScalePaths | undefined;
  readonly selectableFields: readonly string[];
  /** Whether `metadata.generation` counts changes of the spec. */
  readonly generation: boolean;
  /** Whether deletion waits for a grace period: pods. */
  readonly graceful: boolean;
  /** What admission adds to a new object. */
  readonly admit: (object: ApiObject) => void;
  readonly defaults: (object: ApiObject) => void;
  readonly validate: (object: ApiObject, old: ApiObject | undefined) => readonly StatusCause[];
}

/** What built-in kinds add to {@link FakeResource}. */
export interface BuiltinResource extends FakeResource {
  readonly generation: boolean;
  readonly graceful?: boolean | undefined;
  readonly admit?: ((object: ApiObject) => void) | undefined;
}
