import { buildProxyRule, containerResources, egressModes } from '@sandlot/api-types';
import type { ContainerResources, EgressMode, EgressProxy, NetworkPolicyEgressRule } from '@sandlot/api-types';
import { json, list } from '@sandlot/config';
import { z } from 'zod';
import { POD_DEFAULTS } from './defaults.ts';
import type { PodDefaults } from './defaults.ts';

const port = z.int().min(1).max(65_535);

/** Environment variables of the controllers that create Sandboxes. With different values one would find stale what another made. */
export const podSettings = {
  SANDBOX_NAMESERVERS: list().default([...POD_DEFAULTS.dnsNameservers]),
  SECURITY_DEFAULTS: z.enum(['Compat', 'Hardened']).default('Compat'),
  SANDBOX_RUNTIME_CLASS: z.string().default(''),
  SANDBOX_RESOURCES: json('requests and limits as JSON', containerResources).default({}),
  /** How templates reach names that do not say it themselves; absent: no egress proxy runs. */
  EGRESS_MODE: z.enum(egressModes).optional(),
  /** Labels of the Pods of the egress proxy, which is in the namespace of this process, and its TCP ports beside that of the resolver. */
  EGRESS_PROXY: json(
    'JSON such as {"podLabels":{"app":"egress"},"ports":[80,443]}',
    z.strictObject({ podLabels: z.record(z.string(), z.string()), ports: z.array(port) }),
  ).optional(),
};

interface PodSettings {
  readonly SANDBOX_NAMESERVERS: readonly string[];
  readonly SECURITY_DEFAULTS: 'Compat' | 'Hardened';
  readonly SANDBOX_RUNTIME_CLASS: string;
  readonly SANDBOX_RESOURCES: ContainerResources;
  readonly EGRESS_MODE?: EgressMode | undefined;
}

export function readPodDefaults(settings: PodSettings): PodDefaults {
  return {
    dnsNameservers: settings.SANDBOX_NAMESERVERS,
    securityDefaults: settings.SECURITY_DEFAULTS,
    runtimeClassName: settings.SANDBOX_RUNTIME_CLASS,
    resources: settings.SANDBOX_RESOURCES,
    egressMode: settings.EGRESS_MODE,
  };
}

interface ProxySettings {
  readonly POD_NAMESPACE: string;
  readonly EGRESS_PROXY?: Omit<EgressProxy, 'namespace'> | undefined;
}

/** The rule that lets Pods reach the egress proxy; undefined: the installation has none. */
export function findProxyRule(settings: ProxySettings): NetworkPolicyEgressRule | undefined {
  const proxy = findEgressProxy(settings);
  return proxy && buildProxyRule(proxy);
}

/** Where the egress proxy is; undefined: the installation has none. */
export function findEgressProxy({ POD_NAMESPACE, EGRESS_PROXY }: ProxySettings): EgressProxy | undefined {
  return EGRESS_PROXY && { namespace: POD_NAMESPACE, ...EGRESS_PROXY };
}
