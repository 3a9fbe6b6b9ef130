import { annotations, findAskedCpu, formatCpu, hasCpu, readCpu, withCpu } from '@sandlot/api-types';
import type { Cpu, PodSpec, SandboxClaim } from '@sandlot/api-types';

/** What a claim wants to have changed in the first container. */
export interface InplaceChange {
  readonly image?: string | undefined;
  readonly cpu?: Cpu | undefined;
}

/** What a claim wants in the first container that this Pod spec does not have; undefined when it has everything. */
export function findInplaceChange(claim: SandboxClaim, podSpec: PodSpec): InplaceChange | undefined {
  const first = podSpec.containers[0];
  const wantedImage = claim.spec.inplaceUpdate?.image;
  const wantedCpu = findAskedCpu(claim);
  const image = wantedImage === first?.image ? undefined : wantedImage;
  const isGiven = wantedCpu === undefined || hasCpu(readCpu(first?.resources), wantedCpu);
  if (image === undefined && isGiven) return undefined;
  return { image, cpu: isGiven ? undefined : wantedCpu };
}

/** Containers with the change in the first of them: merge patches replace lists whole. */
export function withInplaceChange(podSpec: PodSpec, { image, cpu }: InplaceChange): PodSpec['containers'] {
  return podSpec.containers.map((container, index) =>
    index > 0
      ? container
      : {
          ...container,
          ...(image === undefined ? {} : { image }),
          ...(cpu === undefined
            ? {}
            : { resources: { ...container.resources, ...withCpu(container.resources ?? {}, cpu) } }),
        },
  );
}

/** The annotations that ask the sandbox-controller for the change of the live pod. */
export function buildInplaceMarks({ image, cpu }: InplaceChange = {}): Readonly<Record<string, string>> {
  return {
    ...(image === undefined ? {} : { [annotations.inplaceImage]: image }),
    ...(cpu === undefined ? {} : { [annotations.inplaceCpu]: formatCpu(cpu) }),
  };
}
