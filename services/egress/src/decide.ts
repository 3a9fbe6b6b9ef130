import { listEgressBlocks } from '@sandlot/api-types';
import { formatCidr } from '@sandlot/std';
import { z } from 'zod';
import type { AddressSnapshot, PlaneBlock, PlaneSandbox, PolicyEgress, SeenClaim } from './plan/plan.ts';

const MAX_PORT = 65_535;

/** What holds for an address; undefined: it is no sandbox's, and everything is refused. */
export function decideAddress({ owner }: AddressSnapshot): PlaneSandbox | undefined {
  if (owner === undefined) return undefined;
  const { sandboxUid, namespace, claim, templateEgress = [] } = owner;
  return {
    uid: sandboxUid,
    namespace,
    claim: claim?.name ?? '',
    claimUid: claim?.uid ?? '',
    ...decideLists(claim),
    within: templateEgress.flatMap(readRule),
  };
}

/** Without a wish the sandbox is open: its NetworkPolicy says what it reaches, and it comes to the proxy for no name. */
function decideLists(claim: SeenClaim | undefined): Pick<PlaneSandbox, 'closed' | 'names' | 'denied'> {
  const wish = claim?.wish;
  if (wish === undefined) return { closed: false, names: [], denied: [] };
  return { closed: wish.isClosed, names: wish.isClosed ? wish.names : [], denied: wish.denied };
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
