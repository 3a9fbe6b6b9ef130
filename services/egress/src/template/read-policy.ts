import { listEgressBlocks } from '@sandlot/api-types';
import { formatCidr } from '@sandlot/std';
import { z } from 'zod';
import type { PlaneBlock } from '../plan/plan.ts';

const MAX_PORT = 65_535;

/** Egress rules of a NetworkPolicy, as the API server stores them. */
export type PolicyEgress = readonly { readonly to?: unknown; readonly ports?: unknown }[];

/** The blocks that rules let through over TCP. Peers that are selectors have no addresses here. */
export function readPolicyEgress(egress: PolicyEgress): readonly PlaneBlock[] {
  return egress.flatMap(readRule);
}

function readRule({ to, ports }: PolicyEgress[number]): PlaneBlock[] {
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
