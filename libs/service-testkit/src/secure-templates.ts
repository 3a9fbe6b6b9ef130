import { findNetworkGap, formatNetworkPolicyName, sandboxTemplates } from '@sandlot/api-types';
import { buildTemplateNetwork } from '@sandlot/api-types/testing';
import { networkPolicies } from '@sandlot/kube';
import type { FakeApiServer } from '@sandlot/kube-testkit';

/** Stands in for the controller of templates: from now on each has its NetworkPolicy, and says so for every generation. */
export function secureTemplates(api: FakeApiServer): void {
  api.onChange(sandboxTemplates, (key) => {
    const template = api.object(sandboxTemplates, key);
    if (template === undefined) return;
    const present = api.object(networkPolicies, { ...key, name: formatNetworkPolicyName(key.name) });
    if (findNetworkGap(template, present) === undefined) return;
    const { status, policy } = buildTemplateNetwork(template);
    if (present === undefined) api.seed(networkPolicies, policy);
    api.change(sandboxTemplates, key, (changed) => void (changed.status = status));
  });
}
