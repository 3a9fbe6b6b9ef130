import { annotations } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { Pod } from '@sandlot/kube/objects';
import type { Plan } from '../plan/steps.ts';

/** Changes the image of the live Pod: docs/reference/sandbox.md#in-place-image. Only its CPU ever changes besides. */
export function decideImage(sandbox: Sandbox, pod: Pod): Plan {
  const image = findRequestedImage(sandbox);
  if (image === undefined || pod.metadata.annotations?.[annotations.inplaceImage] === image) return [];
  const patch = { metadata: { uid: pod.metadata.uid, annotations: { [annotations.inplaceImage]: image } } };
  return [{ kind: 'patchPod', phase: 'pod', pod, patch, image }];
}

/** Whether the Pod runs the requested image: the kubelet has restarted the container since its image was changed. */
export function isRunningRequestedImage(sandbox: Sandbox, pod: Pod): boolean {
  const image = findRequestedImage(sandbox);
  if (image === undefined) return true;
  const { [annotations.inplaceImage]: applied, [annotations.inplaceImageFrom]: from } = pod.metadata.annotations ?? {};
  return applied === image && (from === undefined || getRestartCount(sandbox, pod) > Number(from));
}

/** How often the first container was restarted. The order of container statuses does not tell which container is first. */
export function getRestartCount({ spec }: Sandbox, pod: Pod): number {
  const first = spec.podTemplate.spec.containers[0]?.name;
  return pod.status?.containerStatuses?.find(({ name }) => name === first)?.restartCount ?? 0;
}

/** The image that a claim requested at its adoption; undefined without one. */
function findRequestedImage({ metadata }: Sandbox): string | undefined {
  return metadata.annotations?.[annotations.inplaceImage];
}
