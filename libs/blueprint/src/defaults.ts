import type { ContainerResources, PodSpec, SandboxTemplate } from '@sandlot/api-types';
import { harden } from './harden.ts';

/** What the installation, not the template, decides about pods made through templates (chart values). */
export interface PodDefaults {
  /** Name servers of pods that may only reach the internet; empty leaves `dnsPolicy` alone. */
  readonly dnsNameservers: readonly string[];
  /** Used when the template does not say (API contract, secure defaults). */
  readonly securityDefaults: 'Compat' | 'Hardened';
  /** Runtime class of hardened pods; empty for the cluster's own. */
  readonly runtimeClassName: string;
  /** Requests and limits of containers of hardened pods that state neither for that resource. */
  readonly resources: ContainerResources;
}

export const POD_DEFAULTS: PodDefaults = {
  dnsNameservers: ['8.8.8.8', '1.1.1.1'],
  securityDefaults: 'Compat',
  runtimeClassName: '',
  resources: {},
};

/** Under the managed default policy the cluster's DNS is out of reach, so public resolvers are named. */
function withDns(spec: PodSpec, template: SandboxTemplate, defaults: PodDefaults): PodSpec {
  const managed = (template.spec.networkPolicyManagement ?? 'Managed') === 'Managed';
  const custom = template.spec.networkPolicy !== undefined;
  const set = (spec.dnsPolicy ?? '') !== '';
  if (!managed || custom || set || defaults.dnsNameservers.length === 0) return spec;
  return { ...spec, dnsPolicy: 'None', dnsConfig: { ...spec.dnsConfig, nameservers: nameServersOf(spec, defaults) } };
}

/** Under `dnsPolicy: None` without name servers the API server refuses the pod. */
function nameServersOf(spec: PodSpec, defaults: PodDefaults): string[] {
  const own = spec.dnsConfig?.nameservers ?? [];
  return own.length > 0 ? own : [...defaults.dnsNameservers];
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
