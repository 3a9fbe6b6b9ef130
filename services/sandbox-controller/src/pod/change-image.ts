import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';

import type { Container, JsonObject, Pod } from '@sandlot/kube';
import { buildObjectKey, patchObject } from '../writes/calls.ts';
import type { CallDeps } from '../writes/calls.ts';
import { getRestartCount } from './decide-image.ts';

export interface ImageChange {
  readonly sandbox: Sandbox;
  readonly pod: Pod;
  readonly patch: JsonObject;
  readonly image: string;
}

/**
 * Changes the image of the live Pod, guarded by its resourceVersion: the patch replaces the whole list of containers, and
 * admission may have added some. An annotation records the restart count, which shows later when the new image runs.
 */
export async function changeImage(deps: CallDeps, { sandbox, pod, patch, image }: ImageChange): Promise<Pod> {
  const { pods } = deps.collections;
  const live = await deps.client.get(pods.resource, buildObjectKey(pod), { signal: deps.signal });
  const { uid, resourceVersion } = live.metadata;
  const guard = { uid: pod.metadata.uid ?? uid ?? '', resourceVersion: resourceVersion ?? '' };
  const first = live.spec.containers[0];
  const hasImage = first?.image === image;
  const from = hasImage ? null : String(getRestartCount(sandbox, live));
  const notes = { [annotations.inplaceImage]: image, [annotations.inplaceImageFrom]: from };
  const spec = hasImage ? {} : { spec: { containers: withImage(live.spec.containers, image) } };
  const whole = { ...patch, metadata: { ...guard, annotations: notes }, ...spec };
  return patchObject(deps, pods, { object: pod, patch: whole });
}

/** Containers of a live Pod are JSON by construction: they came from the API server. */
function withImage(containers: readonly Container[], image: string): JsonObject[] {
  return containers.map((container, index) => ({ ...(container as JsonObject), ...(index === 0 ? { image } : {}) }));
}
