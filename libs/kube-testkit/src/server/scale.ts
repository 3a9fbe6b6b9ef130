import { badRequest, notFound } from './api-error.ts';
import type { ApiObject } from '../storage/api-object.ts';
import { setAt, valueAt } from '../storage/api-object.ts';
import type { ScalePaths } from '../storage/served-resource.ts';
import type { Registry, Target, WriteOptions } from '../storage/registry.ts';

function getPaths({ definition, name }: Target): ScalePaths {
  if (definition.scale === undefined) throw notFound(definition, name);
  return definition.scale;
}

function count(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** The `autoscaling/v1` Scale of an object. */
export function readScale(registry: Registry, target: Target): ApiObject {
  const paths = getPaths(target);
  return buildScale(registry.read(target), paths);
}

function buildScale(object: ApiObject, { specReplicas, statusReplicas, labelSelector }: ScalePaths): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = labelSelector === undefined ? undefined : valueAt(object, labelSelector);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: count(valueAt(object, specReplicas)) },
    status: {
      replicas: count(valueAt(object, statusReplicas)),
      ...(typeof selector === 'string' ? { selector } : {}),
    },
  };
}

/** Writes `spec.replicas` of the Scale into the object, guarded by the resourceVersion of the Scale. */
export function writeScale(
  registry: Registry,
  target: Target,
  wanted: { scale: unknown; options: WriteOptions },
): ApiObject {
  const paths = getPaths(target);
  const replicas = valueAt(wanted.scale, ['spec', 'replicas']);
  if (typeof replicas !== 'number') throw badRequest('spec.replicas of the Scale must be a number');
  const resourceVersion = valueAt(wanted.scale, ['metadata', 'resourceVersion']);
  const change = (current: ApiObject): { object: ApiObject } => {
    if (typeof resourceVersion === 'string') current.metadata.resourceVersion = resourceVersion;
    setAt(current, paths.specReplicas, replicas);
    return { object: current };
  };
  return buildScale(registry.update(target, change, wanted.options), paths);
}
