import type { MetricsRegistry } from '@sandlot/telemetry';
import { Counter } from 'prom-client';

const OPERATIONS = ['create', 'update', 'delete', 'refused', 'not_controlled'] as const;

/** A write of a NetworkPolicy, or why there was none. */
export type PolicyOperation = (typeof OPERATIONS)[number];

/** The metrics of the NetworkPolicies of sandboxes (docs/reference/observability.md#metrics). */
export interface PolicyMetrics {
  count(operation: PolicyOperation): void;
}

export function createPolicyMetrics(registry: MetricsRegistry): PolicyMetrics {
  const operations = new Counter({
    name: 'sandlot_network_policy_operations_total',
    help: 'NetworkPolicies of sandboxes created, updated, deleted, refused by the API server, or found to be not ours.',
    labelNames: ['operation'],
    registers: [registry],
  });
  for (const operation of OPERATIONS) operations.inc({ operation }, 0);
  return { count: (operation) => operations.inc({ operation }) };
}
