import { z } from 'zod';
import { egressModes } from '../egress/modes.ts';
import { atomicList } from './field.ts';

const MAX_ENTRIES = 100;

/** `egress` of a SandboxTemplate (docs/reference/sandbox-template.md#egress-by-name). */
export const templateEgress = z.object({
  mode: z
    .enum(egressModes)
    .optional()
    .describe(
      'Direct: addresses alone. OnDemand: claims may close their sandboxes but for names. Proxied: all are closed but for `allow`. Unset: that of the chart, or Direct if the template has a `networkPolicy` or a `dnsPolicy`. Part of the blueprint.',
    ),
  allow: z
    .array(z.string().min(1).max(300))
    .max(MAX_ENTRIES)
    .meta(atomicList)
    .optional()
    .describe(
      'With Proxied: names, such as `example.com`, `*.example.com` or `example.com:8443`, and addresses or blocks.',
    ),
  enforcement: z
    .enum(['Enforced', 'Observed'])
    .optional()
    .describe(
      'With Proxied. Observed: nothing is refused, and `sandlot egress` shows which names `allow` would have refused. Enforced when unset.',
    ),
});

/** What the API server refuses of it. */
export const egressRules = [
  {
    rule: "!has(self.egress) || !has(self.egress.allow) || (has(self.egress.mode) && self.egress.mode == 'Proxied')",
    message: 'egress.allow needs egress.mode Proxied; with OnDemand claims bring the names',
  },
  {
    rule: "!has(self.egress) || !has(self.egress.mode) || self.egress.mode == 'Direct' || self.networkPolicyManagement != 'Unmanaged'",
    message:
      'egress.mode OnDemand and Proxied need networkPolicyManagement Managed: the NetworkPolicy leads Pods to the egress proxy',
  },
  {
    rule: "!has(self.egress) || !has(self.egress.enforcement) || (has(self.egress.mode) && self.egress.mode == 'Proxied')",
    message: 'egress.enforcement needs egress.mode Proxied',
  },
] as const;
