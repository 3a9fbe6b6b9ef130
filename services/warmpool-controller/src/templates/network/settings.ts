import type { EgressMode, EgressProxy, NetworkPolicyEgressRule } from '@sandlot/api-types';
import { flag, json, list } from '@sandlot/config';
import { z } from 'zod';
import { findCidrProblem } from './blocks.ts';

/** The installation's settings for the network of sandboxes (chart values `network.*`). */
export interface NetworkSettings {
  /** The namespace of the gateway and the claim-controller. */
  readonly releaseNamespace: string;
  /** Blocks that sandboxes may not reach, beside those that are not the internet. */
  readonly extraBlockedCIDRs: readonly string[];
  /** Rules added to the default egress, never to a template's own rules. */
  readonly extraEgress: readonly NetworkPolicyEgressRule[];
  /** Apply the default rules to directly authored Sandboxes too. */
  readonly protectAuthoredSandboxes: boolean;
  /** How templates reach names that do not say it themselves, and where the proxy is; undefined: the installation has none. */
  readonly egressMode?: EgressMode | undefined;
  readonly egressProxy?: EgressProxy | undefined;
  /** Whether the proxy applies rules, for which sandboxes prove who they are. Else it refuses all requests to their hosts. */
  readonly hasEgressRules?: boolean | undefined;
}

/** CIDRs separated by commas, none with a {@link findCidrProblem}. */
function blocks() {
  return list().superRefine((cidrs, context) => {
    for (const cidr of cidrs) {
      const problem = findCidrProblem(cidr);
      if (problem !== undefined)
        context.addIssue({ code: 'custom', message: `CIDRs separated by commas, but ${cidr} ${problem}` });
    }
  });
}

const word = z.string().min(1);
const requirement = z.strictObject({
  key: word,
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
  values: z.array(z.string()).optional(),
});
const selector = z.strictObject({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(requirement).optional(),
});
const ipBlock = z.strictObject({ cidr: word, except: z.array(word).optional() });
const peer = z
  .strictObject({
    ipBlock: ipBlock.optional(),
    namespaceSelector: selector.optional(),
    podSelector: selector.optional(),
  })
  .refine(
    (given) =>
      (given.ipBlock === undefined) !== (given.namespaceSelector === undefined && given.podSelector === undefined),
    'a peer is either an ipBlock or selectors of namespaces and pods',
  );
const port = z.strictObject({
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).optional(),
  port: z.union([z.int().min(1).max(65_535), word]).optional(),
  endPort: z.int().min(1).max(65_535).optional(),
});
const egressRule = z.strictObject({ to: z.array(peer).optional(), ports: z.array(port).optional() });

/** The environment variables of {@link NetworkSettings}. */
export const networkVariables = {
  NETWORK_EXTRA_BLOCKED_CIDRS: blocks().default([]),
  NETWORK_EXTRA_EGRESS: json('a JSON list of egress rules of a NetworkPolicy', z.array(egressRule)).default([]),
  NETWORK_PROTECT_AUTHORED_SANDBOXES: flag().default(false),
};
