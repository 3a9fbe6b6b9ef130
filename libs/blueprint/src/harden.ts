import type { Container, ContainerResources, PodSpec } from '@sandlot/api-types';

type Amounts = NonNullable<ContainerResources['requests']>;

/** Chart values for hardened pods. */
export interface Hardening {
  readonly runtimeClassName: string;
  readonly resources: ContainerResources;
}

type SecurityContext = NonNullable<Container['securityContext']>;
type Capabilities = NonNullable<SecurityContext['capabilities']>;

/** Fills in unset fields; never overrides a field that the template sets (docs/reference/sandbox-template.md#secure-defaults). */
export function harden(spec: PodSpec, { runtimeClassName, resources }: Hardening): PodSpec {
  const runtimeClass = isSet(spec.runtimeClassName) ? spec.runtimeClassName : runtimeClassName;
  const each = (container: Container): Container => withResources(confine(container, spec), resources, spec);
  return {
    ...spec,
    enableServiceLinks: spec.enableServiceLinks ?? false,
    ...(isWindows(spec) ? {} : { securityContext: withSeccomp(spec.securityContext) }),
    containers: spec.containers.map(each),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(each) }),
    ...(runtimeClass === '' ? {} : { runtimeClassName: runtimeClass }),
  };
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

/** The API server refuses all of these fields on Windows. */
function isWindows(spec: PodSpec): boolean {
  return spec.os?.name === 'windows';
}

function withSeccomp(given: PodSpec['securityContext']): NonNullable<PodSpec['securityContext']> {
  return { seccompProfile: { type: 'RuntimeDefault' }, ...given };
}

function confine(container: Container, spec: PodSpec): Container {
  const given = container.securityContext ?? {};
  // The API server refuses a privileged container without escalation or with dropped capabilities.
  if (isWindows(spec) || given.privileged === true) return container;
  const { allowPrivilegeEscalation = mayEscalate(given.capabilities) } = given;
  return {
    ...container,
    securityContext: {
      ...given,
      ...(allowPrivilegeEscalation === undefined ? {} : { allowPrivilegeEscalation }),
      capabilities: withoutCapabilities(given.capabilities),
    },
  };
}

/** The API server refuses CAP_SYS_ADMIN together with `allowPrivilegeEscalation: false`. */
function mayEscalate(capabilities: Capabilities | undefined): false | undefined {
  return capabilities?.add?.includes('CAP_SYS_ADMIN') === true ? undefined : false;
}

/** Capabilities that a template adds stay. Dropping `ALL` would also remove an added `ALL`. */
function withoutCapabilities(given: Capabilities | undefined): Capabilities {
  return given?.add?.includes('ALL') === true ? given : { drop: ['ALL'], ...given };
}

/**
 * Fills in both amounts of a resource or neither: a default request above a stated limit would make the pod invalid. A
 * template with resources of the whole pod gets none.
 */
function withResources(container: Container, defaults: ContainerResources, spec: PodSpec): Container {
  if (spec.resources !== undefined) return container;
  const { requests, limits } = container.resources ?? {};
  const stated = new Set([...Object.keys(requests ?? {}), ...Object.keys(limits ?? {})]);
  const open = (amounts: Amounts = {}): Amounts =>
    Object.fromEntries(Object.entries(amounts).filter(([resource]) => !stated.has(resource)));
  const filled = {
    requests: { ...open(defaults.requests), ...requests },
    limits: { ...open(defaults.limits), ...limits },
  };
  const members = Object.entries(filled).filter(([, amounts]) => Object.keys(amounts).length > 0);
  if (members.length === 0) return container;
  return { ...container, resources: { ...container.resources, ...Object.fromEntries(members) } };
}
