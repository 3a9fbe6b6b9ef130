import { BLOCKED_IPV4, BLOCKED_IPV6 } from '@sandlot/api-types';
import type { EgressProxy, NetworkPolicyEgressRule, NetworkPolicyIngressRule } from '@sandlot/api-types';
import { isIPv6Block } from './blocks.ts';
import type { NetworkSettings } from './settings.ts';

/** The rule lists of a NetworkPolicy; an empty list lets nothing pass. */
export type Rules = {
  readonly ingress: NetworkPolicyIngressRule[];
  readonly egress: NetworkPolicyEgressRule[];
};

const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
const COMPONENT = 'app.kubernetes.io/component';

type DefaultSettings = Pick<NetworkSettings, 'releaseNamespace' | 'extraBlockedCIDRs' | 'extraEgress'>;

/** The port of the in-sandbox daemon. */
const RUNTIME_PORT = 49_983;

/** The rules of a template without `networkPolicy` (docs/reference/sandbox-template.md#network-policy). */
export function buildDefaultRules({ releaseNamespace, extraBlockedCIDRs, extraEgress }: DefaultSettings): Rules {
  const inNamespace = (namespace: string, podLabels: Record<string, string>) => ({
    namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
    podSelector: { matchLabels: podLabels },
  });
  const block = (cidr: string, blocked: readonly string[], ofFamily: (cidr: string) => boolean) => ({
    ipBlock: { cidr, except: [...new Set([...blocked, ...extraBlockedCIDRs.filter(ofFamily)])] },
  });
  return {
    ingress: [
      {
        from: [
          inNamespace('agent-sandbox-system', { app: 'sandbox-router' }),
          inNamespace(releaseNamespace, { [COMPONENT]: 'gateway' }),
        ],
      },
      {
        from: [inNamespace(releaseNamespace, { [COMPONENT]: 'claim-controller' })],
        ports: [{ port: RUNTIME_PORT, protocol: 'TCP' }],
      },
    ],
    egress: [
      {
        to: [block('0.0.0.0/0', BLOCKED_IPV4, (cidr) => !isIPv6Block(cidr)), block('::/0', BLOCKED_IPV6, isIPv6Block)],
      },
      ...extraEgress,
    ],
  };
}

/** Lets the egress proxy ask the daemon of a sandbox who it is. */
export function buildProofRule({ namespace, podLabels }: EgressProxy): NetworkPolicyIngressRule {
  return {
    from: [
      {
        namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
        podSelector: { matchLabels: { ...podLabels } },
      },
    ],
    ports: [{ port: RUNTIME_PORT, protocol: 'TCP' }],
  };
}

/** Nothing comes in and nothing goes out. */
export const NO_TRAFFIC: Rules = { ingress: [], egress: [] };
