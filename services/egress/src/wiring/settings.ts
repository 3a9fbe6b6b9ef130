import { flag, list, port, text } from '@sandlot/config';
import { processSettings } from '@sandlot/service';
import { parseCidr } from '@sandlot/std';
import { egressProofSettings } from '@sandlot/tenancy';

/** The settings of the rules process, by environment variable. */
export const egressSettings = processSettings.extend({
  /** Socket of the data plane in the same Pod. */
  EGRESS_SOCKET: text().default('/run/sandlot/egress.sock'),
  /** UID of the own Pod. */
  POD_UID: text().optional(),
  /** Where it says what was refused, and which rules are applied. */
  PORT: port().default(8080),
  /** Name of the Service of the proxy, in its own namespace, to which names without a rule lead. */
  EGRESS_SERVICE: text(),
  /** Name of that to which names with a rule lead. */
  EGRESS_INSPECT_SERVICE: text(),
  ...egressProofSettings,
  /** Namespace of the values that clients of the API stored, and that tenants cannot read; absent: there are none. */
  VAULT_NAMESPACE: text().optional(),
  /** Whether rules may refer to marked Secrets of the namespaces of claims. The process may read every Secret there. */
  EGRESS_NAMESPACE_SECRETS: flag().default(false),
  /** Blocks that no sandbox may reach, beside those that are not the internet. */
  EXTRA_BLOCKED_CIDRS: list()
    .default([])
    .refine(
      (cidrs) => cidrs.every((cidr) => parseCidr(cidr) !== undefined),
      'CIDRs separated by commas, such as 203.0.113.0/24',
    ),
});

export type EgressSettings = ReturnType<typeof egressSettings.parse>;
