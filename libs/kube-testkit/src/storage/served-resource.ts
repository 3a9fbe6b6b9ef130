import type { KubeObject, Resource } from '@sandlot/kube';
import type { GroupResource, StatusCause } from '../server/api-error.ts';
import type { ApiObject } from './api-object.ts';

/** Fields of the scale subresource, as paths such as `['spec', 'replicas']`. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  readonly labelSelector?: readonly string[] | undefined;
}

/** A served resource. The defaults are those of a custom resource with a status subresource. */
export interface FakeResource {
  /** Several versions of one resource share their objects and differ only in `apiVersion`. */
  readonly resource: Resource<KubeObject>;
  /** Default true: the main endpoint ignores status, `/status` ignores everything else. */
  readonly status?: boolean | undefined;
  readonly scale?: ScalePaths | undefined;
  /** Fields for field selectors in addition to `metadata.name` and `metadata.namespace`. */
  readonly selectableFields?: readonly string[] | undefined;
  /** Sets defaults in a new or changed object, in place, before validation. */
  readonly defaults?: ((object: ApiObject) => void) | undefined;
  /** Returns why to refuse the object (422), in place of the schema and its CEL rules. `old` is undefined on create. */
  readonly validate?: ((object: ApiObject, old: ApiObject | undefined) => readonly StatusCause[]) | undefined;
}

/** A served resource with all defaults applied. */
export interface Definition extends GroupResource {
  readonly table: string;
  readonly namespaced: boolean;
  /** All served versions. Objects are stored without a version. */
  readonly versions: readonly string[];
  /** Built-in kinds differ: their list items have no kind, and DELETE returns the object. */
  readonly builtin: boolean;
  readonly status: boolean;
  readonly scale: ScalePaths | undefined;
  readonly selectableFields: readonly string[];
  /** Whether a change of the spec increments `metadata.generation`. */
  readonly generation: boolean;
  /** Whether deletion waits for a grace period. True for pods. */
  readonly graceful: boolean;
  /** Changes a new object in place, as admission does. */
  readonly admit: (object: ApiObject) => void;
  readonly defaults: (object: ApiObject) => void;
  readonly validate: (object: ApiObject, old: ApiObject | undefined) => readonly StatusCause[];
}

/** A {@link FakeResource} with the options of built-in kinds. */
export interface BuiltinResource extends FakeResource {
  readonly generation: boolean;
  readonly graceful?: boolean | undefined;
  readonly admit?: ((object: ApiObject) => void) | undefined;
}
