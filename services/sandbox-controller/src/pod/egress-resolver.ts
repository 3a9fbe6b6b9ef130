import { isMadeByExtension, labels } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import type { PodSpec, Service } from '@sandlot/kube/objects';

/** The resolver of the egress proxy, as the watch of its Service shows it. */
export interface EgressResolver {
  /** Name of its Service, in the namespace of this process. */
  readonly service: string;
  /** Its addresses now; empty while the Service has none. */
  readonly addresses: readonly string[];
}

/** Whether Pods of the Sandbox ask the egress resolver. The controllers that create Sandboxes of templates set the label. */
export function isSteered(sandbox: Sandbox): boolean {
  return sandbox.metadata.labels?.[labels.egress] === 'steered' && isMadeByExtension(sandbox);
}

/** The addresses of a Service that has one in the cluster. */
export function listServiceAddresses(service: Service | undefined): readonly string[] {
  const { clusterIP, clusterIPs = clusterIP === undefined ? [] : [clusterIP] } = service?.spec ?? {};
  return clusterIPs.filter((address) => address !== '' && address !== 'None');
}

/** Why no Pod of the Sandbox can be created now; undefined: one can. Without its resolver a Pod would find no name at all. */
export function findResolverRefusal(sandbox: Sandbox, resolver: EgressResolver | undefined): string | undefined {
  if (resolver === undefined || resolver.addresses.length > 0 || !isSteered(sandbox)) return undefined;
  return `the egress resolver has no address: Service "${resolver.service}" of the installation is missing or has no cluster IP`;
}

/** The Pod asks the resolver by the address that it has now. In an installation without one it keeps what is written. */
export function withResolver(spec: PodSpec, sandbox: Sandbox, resolver: EgressResolver | undefined): PodSpec {
  if (resolver === undefined || resolver.addresses.length === 0 || !isSteered(sandbox)) return spec;
  return { ...spec, dnsPolicy: 'None', dnsConfig: { ...spec.dnsConfig, nameservers: [...resolver.addresses] } };
}
