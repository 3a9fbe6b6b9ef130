import { annotations, hasCpu, parseCpu, readCpu, withCpu } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { KubeError, RetryableError, getKey, isNotFound } from '@sandlot/kube';
import type { Container, JsonObject, Pod } from '@sandlot/kube';
import { buildCallOptions, buildObjectKey, patchObject } from '../writes/calls.ts';
import type { CallDeps } from '../writes/calls.ts';
import { getFirstContainerName } from './decide-cpu.ts';

export interface Resize {
  readonly sandbox: Sandbox;
  readonly pod: Pod;
  /** Text of the annotation. */
  readonly cpu: string;
}

/**
 * Asks the API server for the CPU, unless the Pod has it, and then notes on the Pod that it did. A crash in between repeats
 * only the note. Throws what {@link isRejection} knows when the API server refuses the CPU, or changes it.
 */
export async function resizePod(deps: CallDeps, resize: Resize): Promise<Pod> {
  const { pod, cpu } = resize;
  const { pods } = deps.collections;
  const live = await deps.client.get(pods.resource, buildObjectKey(pod), { signal: deps.signal });
  if (live.metadata.uid !== pod.metadata.uid) throw new RetryableError('another Pod has the name by now');
  const resized = hasAsked(resize, live) ? live : await patchResources(deps, resize, live);
  if (!hasAsked(resize, resized)) {
    throw buildRefusal(
      pod,
      'the API server accepted it and shows another CPU: an admission webhook may set resources, or the Pod has no such container',
    );
  }
  const notes = { [annotations.inplaceCpu]: cpu };
  return patchObject(deps, pods, { object: pod, patch: { metadata: { uid: pod.metadata.uid, annotations: notes } } });
}

function hasAsked({ sandbox, cpu }: Resize, { spec }: Pod): boolean {
  const name = getFirstContainerName(sandbox);
  const first = spec.containers.find((each) => each.name === name);
  return hasCpu(readCpu(first?.resources), parseCpu(cpu));
}

/** Guarded by the resourceVersion: the patch replaces the whole list of containers, and admission may have added some. */
async function patchResources(deps: CallDeps, { sandbox, pod, cpu }: Resize, live: Pod): Promise<Pod> {
  const { uid = '', resourceVersion = '' } = live.metadata;
  const name = getFirstContainerName(sandbox);
  const containers = live.spec.containers.map((each) => (each.name === name ? withAsked(each, cpu) : getJson(each)));
  const patch = { metadata: { uid, resourceVersion }, spec: { containers } };
  const { resource, own } = deps.collections.pods;
  const options = { ...buildCallOptions(deps), subresource: 'resize' } as const;
  return own.write(getKey(pod), async () => {
    try {
      return await deps.client.mergePatch(resource, buildObjectKey(pod), patch, options);
    } catch (error) {
      // Otherwise a server without the subresource would look like one without the Pod, and a new Pod would be created.
      if (!isNotFound(error) || !(await isThere(deps, pod))) throw error;
      throw buildRefusal(pod, 'the API server cannot resize Pods; it needs Kubernetes 1.33 or newer', error);
    }
  });
}

function withAsked(container: Container, cpu: string): JsonObject {
  const resources = withCpu(container.resources ?? {}, parseCpu(cpu));
  return { ...getJson(container), resources: { ...container.resources, ...resources } };
}

/** Containers of a live Pod are JSON by construction: they came from the API server. */
function getJson(container: Container): JsonObject {
  return container as JsonObject;
}

/** Whether a 404 was about the subresource and not about the Pod. */
async function isThere({ client, collections, signal }: CallDeps, pod: Pod): Promise<boolean> {
  const found = await client.find(collections.pods.resource, buildObjectKey(pod), { signal });
  return found !== undefined && found.metadata.uid === pod.metadata.uid;
}

function buildRefusal({ metadata: { namespace = '', name = '' } }: Pod, message: string, cause?: unknown): KubeError {
  const target = { verb: 'mergePatch', resource: 'pods/resize', key: `${namespace}/${name}` } as const;
  return new KubeError({ ...target, code: 'Forbidden', message, cause });
}
