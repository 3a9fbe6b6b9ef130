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
  metadata: z.object({ labels: stringMap.optional(), annotations: stringMap.optional() }).optional(),
  spec: podSpec,
});

const volumeClaimTemplate = z.object({
  metadata: z
    .object({
      name: z.string().optional(),
      labels: stringMap.optional(),
      annotations: stringMap.optional(),
    })
    .optional(),
  spec: claimSpec,
});

/** One PVC per entry, as in a StatefulSet. */
export const volumeClaimTemplates = z.array(volumeClaimTemplate).meta(atomicList);

/** Custom rules of a template; an empty list means deny. */
export const networkPolicy = z.object({
  ingress: z.array(ingressRule).meta(atomicList).optional(),
  egress: z.array(egressRule).meta(atomicList).optional(),
});

/** The in-sandbox daemon. */
export const runtime = z.object({
  inject: z.boolean().default(false),
  image: z.string().optional(),
});
