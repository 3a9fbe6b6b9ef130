// What of a template other namespaces get. A copy acts in the namespace of its user, with code of another team, so that it may name
// nothing there and open nothing there.
import type { PodTemplate, SandboxTemplateSpec } from '@sandlot/api-types';

type PodSpec = PodTemplate['spec'];
type Container = PodSpec['containers'][number];

/** The fields that a copy has. */
const COPIED = ['podTemplate', 'runtime', 'envVarsInjectionPolicy', 'suspensionStrategy'] as const;
/** What other fields may say: the API server writes it where a template says nothing. */
const USUAL: Readonly<Record<string, unknown>> = {
  networkPolicyManagement: 'Managed',
  volumeClaimTemplatesPolicy: 'Disallowed',
  dynamicVolumesPolicy: 'Disallowed',
};
/** Volumes that are of the Pod alone. */
const OWN_VOLUMES: readonly string[] = ['name', 'emptyDir', 'downwardAPI'];
const OWN_VALUES: readonly string[] = ['fieldRef', 'resourceFieldRef'];

/** The field for which a template cannot be public; undefined: it can. */
export function findClosedField(spec: SandboxTemplateSpec): string | undefined {
  const copied: readonly string[] = COPIED;
  const other = Object.entries(spec).find(
    ([field, value]) => value !== undefined && !copied.includes(field) && USUAL[field] !== value,
  );
  if (other !== undefined) return other[0];
  const { metadata, spec: pod } = spec.podTemplate;
  // Labels could make the Pod part of a Service of its namespace.
  if (hasKeys(metadata?.labels) || hasKeys(metadata?.annotations)) return 'podTemplate.metadata';
  const field = findPodField(pod);
  return field === undefined ? undefined : `podTemplate.spec.${field}`;
}

function findPodField(pod: PodSpec): string | undefined {
  const { volumes = [], containers, initContainers = [], ephemeralContainers = [] } = pod;
  if (volumes.some((volume) => !hasOnly(volume, OWN_VOLUMES))) return 'volumes';
  for (const container of [...containers, ...initContainers, ...ephemeralContainers]) {
    const field = findContainerField(container);
    if (field !== undefined) return `containers.${field}`;
  }
  return findAccessField(pod);
}

function findAccessField(pod: PodSpec): string | undefined {
  if ([pod.serviceAccountName, pod.serviceAccount].some((name = 'default') => name !== 'default'))
    return 'serviceAccountName';
  if (pod.hostNetwork === true || pod.hostPID === true || pod.hostIPC === true) return 'hostNetwork, hostPID, hostIPC';
  return (pod.resourceClaims ?? []).length > 0 ? 'resourceClaims' : undefined;
}

function findContainerField({ envFrom = [], env = [] }: Pick<Container, 'envFrom' | 'env'>): string | undefined {
  if (envFrom.length > 0) return 'envFrom';
  const isForeign = env.some(({ valueFrom }) => valueFrom !== undefined && !hasOnly(valueFrom, OWN_VALUES));
  return isForeign ? 'env.valueFrom' : undefined;
}

/** The spec of a copy. Its Pod gets no token of the namespace of its user. */
export function buildCopySpec({ podTemplate, ...spec }: SandboxTemplateSpec): SandboxTemplateSpec {
  const kept = COPIED.flatMap((field) =>
    field === 'podTemplate' || spec[field] === undefined ? [] : [[field, spec[field]] as const],
  );
  return {
    ...Object.fromEntries(kept),
    podTemplate: { spec: { ...podTemplate.spec, automountServiceAccountToken: false } },
  };
}

function hasKeys(map: object | undefined): boolean {
  return Object.keys(map ?? {}).length > 0;
}

function hasOnly(object: object, fields: readonly string[]): boolean {
  return Object.entries(object).every(([field, value]) => value === undefined || fields.includes(field));
}
