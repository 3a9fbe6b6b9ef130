import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { pods } from '@sandlot/kube';
import type { Container, JsonObject, Pod } from '@sandlot/kube';
import { objectKey, patchObject } from '../writes/calls.ts';
import type { CallDeps } from '../writes/calls.ts';
import type { Plan } from '../plan/steps.ts';

/** The image a claim had put into the live Pod, by the mark that its commit left; undefined when none did. */
function markedImage({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[annotations.inplaceImage];
}

/** The one part of a Pod's spec that is ever changed (API contract, Pod states): the image of the first container. */
export function decideImage(sandbox: Sandbox, pod: Pod): Plan {
  const image = markedImage(sandbox);
  if (image === undefined || pod.metadata.annotations?.[annotations.inplaceImage] === image) return [];
  const patch = { metadata: { uid: pod.metadata.uid, annotations: { [annotations.inplaceImage]: image } } };
  return [{ kind: 'patchPod', phase: 'pod', pod, patch, image }];
}

/** Whether the Pod runs what it should: the kubelet has started the container anew since its image was changed. */
export function runsMarkedImage(sandbox: Sandbox, pod: Pod): boolean {
  const image = markedImage(sandbox);
  if (image === undefined) return true;
  const { [annotations.inplaceImage]: applied, [annotations.inplaceImageFrom]: from } = pod.metadata.annotations ?? {};
  return applied === image && (from === undefined || startsOf(sandbox, pod) > Number(from));
}

/** How often the first container was started again. Statuses are in no order that tells which container is the first. */
function startsOf({ spec }: Sandbox, pod: Pod): number {
  const first = spec.podTemplate.spec.containers[0]?.name;
  return pod.status?.containerStatuses?.find(({ name }) => name === first)?.restartCount ?? 0;
}

export interface ImageChange {
  readonly sandbox: Sandbox;
  readonly pod: Pod;
  readonly patch: JsonObject;
  readonly image: string;
}

/**
 * Patches the live Pod, guarded by its resourceVersion: its list of containers is replaced whole, and admission may have
 * added some. The Pod notes how often the container had been started, which tells when the new image runs.
 */
export async function changeImage(deps: CallDeps, { sandbox, pod, patch, image }: ImageChange): Promise<Pod> {
  const key = objectKey(pod);
  const live = await deps.client.get(pods, key, { signal: deps.signal });
  const { uid, resourceVersion } = live.metadata;
  const guard = { uid: pod.metadata.uid ?? uid ?? '', resourceVersion: resourceVersion ?? '' };
  const first = live.spec.containers[0];
  const runs = first?.image === image;
  const from = runs ? null : String(startsOf(sandbox, live));
  const notes = { [annotations.inplaceImage]: image, [annotations.inplaceImageFrom]: from };
  const spec = runs ? {} : { spec: { containers: withImage(live.spec.containers, image) } };
  return patchObject(deps, pods, { key, patch: { ...patch, metadata: { ...guard, annotations: notes }, ...spec } });
}

/** Containers of a live Pod are JSON by construction: they came from the API server. */
function withImage(containers: readonly Container[], image: string): JsonObject[] {
  return containers.map((container, index) => ({ ...(container as JsonObject), ...(index === 0 ? { image } : {}) }));
}
