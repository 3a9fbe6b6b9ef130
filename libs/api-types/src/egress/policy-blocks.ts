import { formatCidr } from '@sandlot/std';
import { z } from 'zod';
import { listEgressBlocks } from './blocks.ts';

const MAX_PORT = 65_535;

/** A block of addresses that is open over TCP. Ports are pairs of the first and the last one; none means all. */
export interface OpenBlock {
  readonly cidr: string;
  readonly except: readonly string[];
  readonly ports: readonly (readonly [number, number])[];
}

/** Egress rules of a NetworkPolicy, as the API server stores them. */
export type PolicyEgress = readonly { readonly to?: unknown; readonly ports?: unknown }[];

/** The blocks that rules let through over TCP. Peers that are selectors have no addresses here. */
export function readPolicyEgress(egress: PolicyEgress): readonly OpenBlock[] {
  return egress.flatMap(readRule);
}

function readRule({ to, ports }: PolicyEgress[number]): OpenBlock[] {
  const found = readPorts(ports);
  if (found === undefined) return [];
  return listEgressBlocks(to).map(({ cidr, except }) => ({
    cidr: formatCidr(cidr),
    except: except.map(formatCidr),
    ports: found,
  }));
}

const portSchema = z.object({
  protocol: z.string().default('TCP'),
  port: z.union([z.number(), z.string()]).optional(),
  endPort: z.number().optional(),
});

/** The TCP ports of a rule; empty for all; undefined if the rule has none, as one for UDP, or one that names its ports. */
function readPorts(ports: unknown): (readonly [number, number])[] | undefined {
  if (ports === undefined || (Array.isArray(ports) && ports.length === 0)) return [];
  const read = z.array(portSchema).safeParse(ports).data ?? [];
  const ranges = read.flatMap(({ protocol, port, endPort }): (readonly [number, number])[] => {
    if (protocol !== 'TCP' || typeof port === 'string') return [];
    return port === undefined ? [[1, MAX_PORT]] : [[port, endPort ?? port]];
  });
  return ranges.length === 0 ? undefined : ranges;
}
