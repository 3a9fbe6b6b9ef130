import { z } from 'zod';
import type { NetworkPolicyEgressRule } from '../generated/core.ts';

/** Where the egress proxy is, for NetworkPolicies of sandboxes. */
export interface EgressProxy {
  readonly namespace: string;
  /** Exactly the selector of its Service: some network plugins follow a Service only then. */
  readonly podLabels: Readonly<Record<string, string>>;
  /** Its TCP ports for sandboxes, beside that of the resolver. */
  readonly ports: readonly number[];
}

/** {@link EgressProxy} as a setting: the namespace is that of the process. */
export const egressProxyPods = z.strictObject({
  podLabels: z.record(z.string(), z.string()),
  ports: z.array(z.int().min(1).max(65_535)),
});

const NAMESPACE_NAME = 'kubernetes.io/metadata.name';
const DNS_PORT = 53;

/** The rule that lets Pods reach the egress proxy and its resolver. */
export function buildProxyRule({ namespace, podLabels, ports }: EgressProxy): NetworkPolicyEgressRule {
  return {
    to: [
      {
        namespaceSelector: { matchLabels: { [NAMESPACE_NAME]: namespace } },
        podSelector: { matchLabels: { ...podLabels } },
      },
    ],
    ports: [{ port: DNS_PORT, protocol: 'UDP' }, ...[DNS_PORT, ...ports].map((port) => ({ port, protocol: 'TCP' }))],
  };
}
