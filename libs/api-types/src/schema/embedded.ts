import { z } from 'zod';
import type {
  NetworkPolicyEgressRule,
  NetworkPolicyIngressRule,
  PersistentVolumeClaimSpec,
  PodSpec,
} from '../generated/core.ts';
import { atomicList, stringMap } from './field.ts';

/**
 * Key under which a schema names the Kubernetes definition that the CRD carries in its place. At run time only the
 * shape `object` is checked: the API server validated the rest at admission.
 */
export const EMBEDDED_DEFINITION = 'x-sandlot-definition';

function embedded<T extends object>(definition: string): z.ZodCustom<T, T> {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  return z.custom<T>(isObject, 'expected an object').meta({ [EMBEDDED_DEFINITION]: definition });
}

const podSpec = embedded<PodSpec>('io.k8s.api.core.v1.PodSpec');
const claimSpec = embedded<PersistentVolumeClaimSpec>('io.k8s.api.core.v1.PersistentVolumeClaimSpec');
const ingressRule = embedded<NetworkPolicyIngressRule>('io.k8s.api.networking.v1.NetworkPolicyIngressRule');
const egressRule = embedded<NetworkPolicyEgressRule>('io.k8s.api.networking.v1.NetworkPolicyEgressRule');

/** The Pod to run: copied verbatim, apart from the volumes of the PVCs. */
export const podTemplate = z.object({
  metadata: z
    .object({
      labels: stringMap.optional().describe('Labels of the Pod; reserved keys are skipped.'),
      annotations: stringMap.optional().describe('Annotations of the Pod; reserved keys are skipped.'),
    })
    .optional()
    .describe('Metadata of the Pod.'),
  spec: podSpec.describe('PodSpec of Kubernetes.'),
});

const volumeClaimTemplate = z.object({
  metadata: z
    .object({
      name: z.string().optional().describe('Name of the volume, and first part of the name of the disk.'),
      labels: stringMap.optional().describe('Labels of the disk.'),
      annotations: stringMap.optional().describe('Annotations of the disk.'),
    })
    .optional()
    .describe('Metadata of the disk.'),
  spec: claimSpec.describe('PersistentVolumeClaimSpec of Kubernetes.'),
});

/** One PVC per entry, as in a StatefulSet. */
export const volumeClaimTemplates = z.array(volumeClaimTemplate).meta(atomicList);

/** Custom rules of a template; an empty list means deny. */
export const networkPolicy = z.object({
  ingress: z
    .array(ingressRule)
    .meta(atomicList)
    .optional()
    .describe('Ingress rules of a NetworkPolicy; an empty list denies everything.'),
  egress: z
    .array(egressRule)
    .meta(atomicList)
    .optional()
    .describe('Egress rules of a NetworkPolicy; an empty list denies everything.'),
});

/** The in-sandbox daemon. */
export const runtime = z.object({
  inject: z.boolean().default(false).describe('Add the daemon to the first container, on port 49983.'),
  image: z.string().optional().describe('Image that holds the daemon; when unset, that of the chart.'),
});
