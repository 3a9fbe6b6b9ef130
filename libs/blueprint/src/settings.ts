import { buildProxyRule } from '@sandlot/api-types';
import type { ContainerResources, EgressMode, EgressProxy, NetworkPolicyEgressRule } from '@sandlot/api-types';
import type { PodDefaults } from './defaults.ts';

/** Variables of the controllers that create Sandboxes. With different values one would find stale what another made. */
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
