import { createInformer, services } from '@sandlot/kube';
import type { ControllerParts } from '@sandlot/service';
import { listServiceAddresses } from '../pod/egress-resolver.ts';
import type { EgressResolver } from '../pod/egress-resolver.ts';

/** A Service by namespace and name. */
export interface ServiceKey {
  readonly namespace: string;
  readonly name: string;
}

/** Follows the Service of the egress proxy. The result says what its addresses are now. */
export function followResolver(
  { client, clock, log, random, manager, kubeMetrics: metrics }: ControllerParts,
  key: ServiceKey | undefined,
): (() => EgressResolver) | undefined {
  if (key === undefined) return undefined;
  const { namespace, name } = key;
  const informer = createInformer({
    client,
    clock,
    log,
    random,
    metrics,
    resource: services,
    namespaces: [namespace],
    fieldSelector: `metadata.name=${name}`,
  });
  manager.addInformer(informer);
  return () => ({ service: name, addresses: listServiceAddresses(informer.store.get(`${namespace}/${name}`)) });
}
