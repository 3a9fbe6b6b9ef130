import type { PodSpec, SandboxTemplate } from '@sandlot/api-types';

/** What the installation, not the template, decides about pods made through templates (chart values). */
export interface PodDefaults {
  /** Name servers of pods that may only reach the internet; empty leaves `dnsPolicy` alone. */
  readonly dnsNameservers: readonly string[];
  /** Used when the template does not say (API contract, secure defaults). */
  readonly securityDefaults: 'Compat' | 'Hardened';
  /** Runtime class of hardened pods; empty for the cluster's own. */
  readonly runtimeClassName: string;
}

export const POD_DEFAULTS: PodDefaults = {
  dnsNameservers: ['8.8.8.8', '1.1.1.1'],
  securityDefaults: 'Compat',
  runtimeClassName: '',
};

type Container = PodSpec['containers'][number];

/** Under the managed default policy the cluster's DNS is out of reach, so public resolvers are named. */
function withDns(spec: PodSpec, template: SandboxTemplate, defaults: PodDefaults): PodSpec {
  const managed = (template.spec.networkPolicyManagement ?? 'Managed') === 'Managed';
  const custom = template.spec.networkPolicy !== undefined;
  const set = (spec.dnsPolicy ?? '') !== '';
  if (!managed || custom || set || defaults.dnsNameservers.length === 0) return spec;
  return { ...spec, dnsPolicy: 'None', dnsConfig: { ...spec.dnsConfig, nameservers: [...defaults.dnsNameservers] } };
}

function hardenContainer(container: Container): Container {
  return {
    ...container,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, ...container.securityContext },
  };
}

/** Fills what is unset; never overrides a field the template sets. */
function harden(spec: PodSpec, defaults: PodDefaults): PodSpec {
  const runtimeClassName = spec.runtimeClassName ?? defaults.runtimeClassName;
  return {
    ...spec,
    enableServiceLinks: spec.enableServiceLinks ?? false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' }, ...spec.securityContext },
    containers: spec.containers.map(hardenContainer),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(hardenContainer) }),
    ...(runtimeClassName === '' ? {} : { runtimeClassName }),
  };
}

/**
 * The pod spec of a sandbox made through a template: no service account token unless the template asks for one, name
 * servers it can reach, and the hardened fields when chosen. Sandboxes authored directly never pass here.
 */
export function podSpecOf(template: SandboxTemplate, defaults: PodDefaults): PodSpec {
  const written = template.spec.podTemplate.spec;
  const tokenless = { ...written, automountServiceAccountToken: written.automountServiceAccountToken ?? false };
  const resolvable = withDns(tokenless, template, defaults);
  const level = template.spec.securityDefaults ?? defaults.securityDefaults;
  return level === 'Hardened' ? harden(resolvable, defaults) : resolvable;
}
