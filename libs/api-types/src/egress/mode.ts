import { isDeepStrictEqual } from 'node:util';
import type { SandboxTemplate } from '../objects.ts';
import type { EgressMode } from './modes.ts';

/**
 * The mode of a template. `installation` is that of the chart; undefined: no egress proxy runs. A template that brings its own
 * rules or DNS is Direct until it asks for more: the proxy would be a way around them.
 */
export function getEgressMode({ spec }: SandboxTemplate, installation: EgressMode | undefined): EgressMode {
  if (installation === undefined || isOutOfReach(spec)) return 'Direct';
  const hasOwnRules = spec.networkPolicy !== undefined || hasOwnDns(spec.podTemplate.spec);
  return spec.egress?.mode ?? (hasOwnRules ? 'Direct' : installation);
}

/**
 * Options of the DNS of Pods that ask the egress resolver: a name has a dot or is none, and a lost question is asked again soon.
 * By them the template of a snapshot, which has the Pod of its Sandbox, is known to ask the resolver.
 */
export const STEERED_DNS_OPTIONS: readonly { readonly name: string; readonly value: string }[] = [
  { name: 'ndots', value: '1' },
  { name: 'timeout', value: '1' },
  { name: 'attempts', value: '3' },
];

function hasOwnDns({ dnsPolicy = '', dnsConfig }: SandboxTemplate['spec']['podTemplate']['spec']): boolean {
  return dnsPolicy !== '' && !isDeepStrictEqual(dnsConfig?.options, STEERED_DNS_OPTIONS);
}

/** No NetworkPolicy of ours sends its Pods to the proxy, or they have the address of their node, which says nothing of whose they are. */
function isOutOfReach({ networkPolicyManagement, podTemplate }: SandboxTemplate['spec']): boolean {
  return networkPolicyManagement === 'Unmanaged' || podTemplate.spec.hostNetwork === true;
}
