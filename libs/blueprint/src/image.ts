import { annotations } from '@sandlot/api-types';
import type { PodSpec, SandboxClaim } from '@sandlot/api-types';

/** The image that a claim wants in the first container; undefined when it wants none or the pod has it already. */
export function findWantedImage(claim: SandboxClaim, podSpec: PodSpec): string | undefined {
  const image = claim.spec.inplaceUpdate?.image;
  return image === podSpec.containers[0]?.image ? undefined : image;
}

/** Containers with the image in the first of them: merge patches replace lists whole. */
export function withImage(podSpec: PodSpec, image: string): PodSpec['containers'] {
  return podSpec.containers.map((container, index) => (index === 0 ? { ...container, image } : container));
}

/** The annotation that asks the sandbox-controller to change the image in the live pod. */
export function formatImageMark(image: string): Readonly<Record<string, string>> {
  return { [annotations.inplaceImage]: image };
}
