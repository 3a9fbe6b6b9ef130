import type { ContainerResources, EgressMode, PodSpec, SandboxTemplate } from '@sandlot/api-types';
import { harden } from './harden.ts';
import { isSteered, withoutRawSockets, withSteeredDns } from './steered.ts';

/** Chart values about pods of templates. */
export interface PodDefaults {
  /** Name servers of pods that can reach the internet only; empty leaves `dnsPolicy` unchanged. */
  readonly dnsNameservers: readonly string[];
  /** Used when the template sets none (docs/reference/sandbox-template.md#secure-defaults). */
  readonly securityDefaults: 'Compat' | 'Hardened';
  /** Runtime class of hardened pods; empty for the cluster's own. */
  readonly runtimeClassName: string;
  /** Requests and limits of containers of hardened pods that state neither for that resource. */
  readonly resources: ContainerResources;
  /** How templates reach names that do not say it themselves; absent: no egress proxy runs. */
  readonly egressMode?: EgressMode | undefined;
}

export const POD_DEFAULTS: PodDefaults = {
  dnsNameservers: ['8.8.8.8', '1.1.1.1'],
  securityDefaults: 'Compat',
  runtimeClassName: '',
  resources: {},
};

/** The managed default policy blocks the cluster's DNS, so pods get public resolvers. */
function withDns(spec: PodSpec, template: SandboxTemplate, defaults: PodDefaults): PodSpec {
  const managed = (template.spec.networkPolicyManagement ?? 'Managed') === 'Managed';
  const custom = template.spec.networkPolicy !== undefined;
  const set = (spec.dnsPolicy ?? '') !== '';
  if (!managed || custom || set || defaults.dnsNameservers.length === 0) return spec;
  return { ...spec, dnsPolicy: 'None', dnsConfig: { ...spec.dnsConfig, nameservers: listNameServers(spec, defaults) } };
}

/** The API server refuses a pod with `dnsPolicy: None` and no name servers. */
function listNameServers(spec: PodSpec, defaults: PodDefaults): string[] {
  const own = spec.dnsConfig?.nameservers ?? [];
  return own.length > 0 ? own : [...defaults.dnsNameservers];
}

/**
 * The pod spec of a Sandbox that comes from a template: no service account token unless the template asks for one, name
 * servers that it can reach, and the hardened fields when they are chosen. Directly authored Sandboxes get none of this.
 */
export function getPodSpec(template: SandboxTemplate, defaults: PodDefaults): PodSpec {
  const written = template.spec.podTemplate.spec;
  const tokenless = { ...written, automountServiceAccountToken: written.automountServiceAccountToken ?? false };
  const steered = isSteered(template, defaults);
  const resolvable = steered
    ? withSteeredDns(tokenless, defaults.dnsNameservers)
    : withDns(tokenless, template, defaults);
  const level = template.spec.securityDefaults ?? defaults.securityDefaults;
  const hardened = level === 'Hardened' ? harden(resolvable, defaults) : resolvable;
  // Hardening drops all capabilities where none is named, so this one comes after it.
  return steered ? withoutRawSockets(hardened) : hardened;
}
