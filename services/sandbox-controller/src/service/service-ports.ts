import type { Container, PodSpec } from '@sandlot/kube/objects';

/** A port of the headless Service. */
export interface ServicePort {
  name: string;
  port: number;
  targetPort: number;
  protocol: string;
}

interface PortKey {
  readonly port: number;
  readonly protocol: string;
}

/**
 * Service ports of a Pod: those that its containers and sidecars declare, one per number and protocol, sorted. The first
 * explicit name of a port wins. A port without a name, or whose name an earlier port has, gets a generated one. See
 * docs/reference/names-and-hashes.md#ports.
 */
export function listServicePorts(spec: PodSpec): ServicePort[] {
  const named = new Map<string, PortKey & { name: string }>();
  const taken = new Set<string>();
  for (const declared of listDeclaredPorts(spec)) {
    const id = `${declared.port}/${declared.protocol}`;
    const known = named.get(id) ?? { ...declared, name: '' };
    named.set(id, known);
    if (known.name !== '' || declared.name === '' || taken.has(declared.name)) continue;
    known.name = declared.name;
    taken.add(declared.name);
  }
  return [...named.values()].sort(byPortThenProtocol).map(({ name, port, protocol }) => {
    const final = name === '' ? formatGeneratedName({ port, protocol }, taken) : name;
    taken.add(final);
    return { name: final, port, targetPort: port, protocol };
  });
}

/** Whether the Service has exactly these ports. Absent fields equal the API server's defaults. */
export function hasSamePorts(
  present: readonly { name?: string; port: number; targetPort?: number | string; protocol?: string }[],
  wanted: readonly ServicePort[],
): boolean {
  return (
    present.length === wanted.length &&
    wanted.every((port, index) => {
      const other = present[index];
      return (
        other?.name === port.name &&
        other.port === port.port &&
        (other.protocol ?? 'TCP') === port.protocol &&
        (other.targetPort ?? other.port) === port.targetPort
      );
    })
  );
}

function* listDeclaredPorts(spec: PodSpec): Generator<PortKey & { readonly name: string }> {
  const sidecars = (spec.initContainers ?? []).filter((container) => container['restartPolicy'] === 'Always');
  const containers: Container[] = [...spec.containers, ...sidecars];
  for (const { containerPort, name = '', protocol } of containers.flatMap(({ ports }) => ports ?? [])) {
    if (containerPort === 0) continue;
    yield { port: containerPort, name, protocol: protocol === undefined || protocol === '' ? 'TCP' : protocol };
  }
}

function byPortThenProtocol(a: PortKey, b: PortKey): number {
  if (a.port !== b.port) return a.port - b.port;
  return a.protocol < b.protocol ? -1 : 1;
}

function formatGeneratedName({ port, protocol }: PortKey, taken: ReadonlySet<string>): string {
  const base = `p-${port}-${protocol.toLowerCase()}`;
  for (let attempt = 1; ; attempt += 1) {
    const name = attempt === 1 ? base : `${base}-${attempt}`;
    if (!taken.has(name)) return name;
  }
}
