import { z } from 'zod';
import { HEADER_RULE_LIMITS } from '../egress/headers/limits.ts';
import { egressModes } from '../egress/modes.ts';
import { atomicList } from './field.ts';

const MAX_ENTRIES = 100;
const { rules, hostLength, headers, textLength, methods, paths, pathLength } = HEADER_RULE_LIMITS;

const secretKey = z.object({
  name: z.string().min(1).max(253).describe('Name of the Secret.'),
  key: z.string().min(1).max(253).describe('Key of the value in it.'),
});
const header = z.object({
  name: z.string().min(1).max(64).describe('Name of the header. What the client sends under it is replaced.'),
  value: z
    .string()
    .max(textLength)
    .optional()
    .describe('A value that is no secret: everyone who reads the template sees it.'),
  valueFrom: z
    .object({ secretKeyRef: secretKey.describe('A key of a Secret.') })
    .optional()
    .describe(
      'A Secret of this namespace with the label `sandlot.dev/egress-credential: "true"` and the hosts to which it may go in the annotation `sandlot.dev/egress-hosts`.',
    ),
  format: z
    .string()
    .max(textLength)
    .optional()
    .describe('With `valueFrom`: the text into which the value goes in place of `{}`, such as `Bearer {}`.'),
});
const rule = z.object({
  host: z.string().min(1).max(hostLength).describe('A name, or `*.` and a name, without a port.'),
  methods: z
    .array(z.string().regex(/^[A-Z]{1,32}$/))
    .max(methods)
    .meta(atomicList)
    .optional()
    .describe('The methods that pass. All but TRACE when unset.'),
  paths: z
    .array(z.string().max(pathLength).regex(/^\//))
    .max(paths)
    .meta(atomicList)
    .optional()
    .describe('The paths that pass, exact or with a final `*`. All when unset.'),
  headers: z.array(header).max(headers).meta(atomicList).optional().describe('The headers that requests get.'),
});

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
  rules: z
    .array(rule)
    .max(rules)
    .meta(atomicList)
    .optional()
    .describe(
      'What the proxy does with requests of claimed Sandboxes to some hosts. It looks into their TLS. A rule opens no host. See [Header rules](#header-rules).',
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
  {
    rule: "!has(self.egress) || !has(self.egress.rules) || !has(self.egress.mode) || self.egress.mode != 'Direct'",
    message: 'egress.rules needs egress.mode OnDemand or Proxied: sandboxes of a Direct template do not use the proxy',
  },
] as const;
