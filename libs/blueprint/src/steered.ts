import { getEgressMode, STEERED_DNS_OPTIONS } from '@sandlot/api-types';
import type { Container, EgressMode, PodSpec, SandboxTemplate } from '@sandlot/api-types';

type SecurityContext = NonNullable<Container['securityContext']>;
type Capabilities = NonNullable<SecurityContext['capabilities']>;

const RAW = 'NET_RAW';
/** Stands where the installation names no name servers: the API server refuses a Pod without one. */
const PLACEHOLDER = '127.0.0.1';

/** Whether Pods of the template ask the egress resolver. */
export function isSteered(
  template: SandboxTemplate,
  { egressMode }: { readonly egressMode?: EgressMode | undefined },
): boolean {
  return getEgressMode(template, egressMode) !== 'Direct';
}

/**
 * The DNS of a Pod that asks the egress resolver. The sandbox-controller replaces the name servers by the address that the
 * resolver has when the Pod starts. Without a search list no name of the cluster is asked for.
 */
export function withSteeredDns(spec: PodSpec, nameservers: readonly string[]): PodSpec {
  return {
    ...spec,
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: nameservers.length > 0 ? [...nameservers] : [PLACEHOLDER],
      options: STEERED_DNS_OPTIONS.map((option) => ({ ...option })),
    },
  };
}

/**
 * Raw packets could have the address of another sandbox, by which the egress proxy knows whose a connection is. The API server
 * refuses dropped capabilities of privileged containers and on Windows.
 */
export function withoutRawSockets(spec: PodSpec): PodSpec {
  if (spec.os?.name === 'windows') return spec;
  const { containers, initContainers } = spec;
  return {
    ...spec,
    containers: containers.map(dropRaw),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(dropRaw) }),
  };
}

function dropRaw(container: Container): Container {
  const { securityContext = {} } = container;
  if (securityContext.privileged === true) return container;
  return {
    ...container,
    securityContext: { ...securityContext, capabilities: withoutRaw(securityContext.capabilities) },
  };
}

function withoutRaw({ add, drop = [] }: Capabilities = {}): Capabilities {
  const isDropped = drop.includes('ALL') || drop.includes(RAW);
  const kept = add?.filter((name) => name !== RAW && name !== `CAP_${RAW}`);
  return { ...(kept === undefined ? {} : { add: kept }), drop: isDropped ? drop : [...drop, RAW] };
}
