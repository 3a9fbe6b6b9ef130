import { labels, VOLUMES_NAME } from '@sandlot/api-types';
import { configMaps, isAlreadyExists, isConflict, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import type { Logger } from '@sandlot/std';
import type { RemoveData } from './files/remove-data.ts';
import { buildObject, isOurs, resources } from './objects/build-objects.ts';
import type { ObjectSettings } from './objects/build-objects.ts';
import { sortRegistered } from './observe.ts';
import type { Part, Registered } from './plan/scene.ts';
import type { Step } from './plan/steps.ts';

export interface ApplyDeps {
  readonly client: Pick<KubeClient, 'create' | 'delete' | 'find' | 'listAll' | 'mergePatch'>;
  readonly objects: ObjectSettings;
  /** Namespace of the ConfigMaps of volumes. */
  readonly registry: string;
  readonly removeData: RemoveData;
  readonly log: Logger;
}

interface At {
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Takes one step. False: what it was to do takes longer. */
export async function apply(deps: ApplyDeps, step: Step, at: At): Promise<boolean> {
  switch (step.kind) {
    case 'write':
      await write(deps, step, at);
      return true;
    case 'delete':
      return remove(deps, step.part, at);
    case 'forget':
      await forget(deps, step.registered, at.signal);
      return true;
    case 'remove-data':
      if (!(await deps.removeData({ namespace: at.namespace, id: step.registered.volume.id }, at.signal))) return false;
      await forget(deps, step.registered, at.signal);
      return true;
    case 'report-taken':
      deps.log.warn(
        { namespace: at.namespace, kind: resources[step.part].kind, name: VOLUMES_NAME },
        'an object that Sandlot has not made has the name that volumes of this namespace need; delete or rename it',
      );
      return true;
  }
}

async function write(
  { client, objects, registry }: ApplyDeps,
  { part, isNew }: Extract<Step, { kind: 'write' }>,
  { namespace, signal }: At,
): Promise<void> {
  const object = buildObject(part, namespace, objects);
  const { annotations } = object.metadata;
  if (!isNew) {
    const patch = { metadata: { annotations }, spec: object.spec };
    await client.mergePatch(resources[part], { namespace, name: VOLUMES_NAME }, patch, { signal });
    return;
  }
  try {
    await client.create(resources[part], object, { signal });
  } catch (error) {
    // The next pass sees what is there.
    if (isAlreadyExists(error)) return;
    if (!isNotFound(error)) throw error;
    // The namespace is gone, and the data with it.
    await forgetAll({ client, registry }, namespace, signal);
  }
}

/** Deletes an object of ours. False for a disk while there is a volume, which the cache may not show yet. */
async function remove({ client, registry }: ApplyDeps, part: Part, { namespace, signal }: At): Promise<boolean> {
  const object = await client.find(resources[part], { namespace, name: VOLUMES_NAME }, { signal });
  if (object === undefined || !isOurs(object)) return true;
  if (part === 'disk' && (await hasVolume({ client, registry }, namespace, signal))) return false;
  // A file server has ended once its Deployment is gone.
  const { uid } = object.metadata;
  const options = { uid, signal, ...(part === 'server' ? ({ propagationPolicy: 'Foreground' } as const) : {}) };
  await client.delete(resources[part], { namespace, name: VOLUMES_NAME }, options).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
  return true;
}

type Registry = Pick<ApplyDeps, 'registry'> & { readonly client: Pick<KubeClient, 'delete' | 'listAll'> };

async function listRegistered({ client, registry }: Registry, namespace: string, signal: AbortSignal) {
  const labelSelector = `${labels.tenant}=${namespace}`;
  const { items } = await client.listAll(configMaps, { namespace: registry, labelSelector, signal });
  return sortRegistered(items);
}

async function hasVolume(deps: Registry, namespace: string, signal: AbortSignal): Promise<boolean> {
  const { live } = await listRegistered(deps, namespace, signal);
  return live.length > 0;
}

async function forgetAll(deps: Registry, namespace: string, signal: AbortSignal): Promise<void> {
  const { live, halfGone, tombstones } = await listRegistered(deps, namespace, signal);
  for (const registered of [...live, ...halfGone, ...tombstones]) await forget(deps, registered, signal);
}

/** A volume that has the name by now is another one, and stays. */
async function forget(
  { client, registry }: Registry,
  { objectName: name, uid }: Registered,
  signal: AbortSignal,
): Promise<void> {
  await client.delete(configMaps, { namespace: registry, name }, { uid, signal }).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}
