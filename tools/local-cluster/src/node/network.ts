import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePaths } from '../cluster/paths.ts';
import { exec, execOrThrow } from '../process/exec.ts';

/** The bridge that connects all pods of the node. */
export const bridgeName = 'sandlot0';

/** Our own nftables table: `<family> <name>`. */
export const natTable = 'ip sandlot';

const prefixLength = 22;

/** How many nodes the network has room for beside the first one. */
export const mostAddedNodes = 2;

/** Returns the pod network as a CIDR. */
export function formatPodCidr(podNetwork: string): string {
  return `${podNetwork}/${prefixLength}`;
}

/** Returns the address of a node, which the bridge has. The first node has the index 0. */
export function getNodeAddress(podNetwork: string, index = 0): string {
  return formatAddress(podNetwork, index === 0 ? 0 : index + 1, 1);
}

/** First and last address. */
export interface AddressRange {
  first: string;
  last: string;
}

/** Returns the addresses that a node gives to its pods: half of the network is the first node's, a quarter an added one's. */
export function getPodRange(podNetwork: string, index = 0): AddressRange {
  const [from, to] = index === 0 ? [0, 1] : [index + 1, index + 1];
  return { first: formatAddress(podNetwork, from, 2), last: formatAddress(podNetwork, to, 254) };
}

function formatAddress(podNetwork: string, block: number, host: number): string {
  const [a, b, c] = podNetwork.split('.');
  return [a, b, Number(c) + block, host].join('.');
}

/** Returns a locally administered unicast address that is unique as long as the IPv4 address is. */
export function formatHardwareAddress(address: string): string {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return ['02', '00', ...bytes].join(':');
}

/** Creates or updates the bridge and the masquerading rules. */
export async function ensureNetwork(podNetwork: string): Promise<void> {
  if ((await exec(['ip', 'link', 'show', bridgeName])).code !== 0) {
    await execOrThrow(['ip', 'link', 'add', bridgeName, 'type', 'bridge']);
  }
  const address = getNodeAddress(podNetwork);
  // A bridge without a hardware address of its own takes the lowest of its ports, so the address changes as pods come and go,
  // and the other pods send to the old one for seconds.
  await execOrThrow(['ip', 'link', 'set', bridgeName, 'address', formatHardwareAddress(address)]);
  await execOrThrow(['ip', 'address', 'replace', `${address}/${prefixLength}`, 'dev', bridgeName]);
  await execOrThrow(['ip', 'link', 'set', bridgeName, 'up']);
  await execOrThrow(['nft', '-f', '-'], { input: formatMasquerade(formatPodCidr(podNetwork)) });
}

/** Writes the CNI configuration of a node into the folder from which its containerd reads it. */
export async function writeCniConfig(folder: string, podNetwork: string, range: AddressRange): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '10-sandlot.conflist'), formatCniConfig(podNetwork, range));
}

/** Lets pods reach the outside with the machine's address. One transaction replaces the whole table. */
function formatMasquerade(pods: string): string {
  return [
    `table ${natTable} {}`,
    `delete table ${natTable}`,
    `table ${natTable} {`,
    '  chain postrouting {',
    '    type nat hook postrouting priority srcnat;',
    `    ip saddr ${pods} oifname != "${bridgeName}" masquerade`,
    '  }',
    '}',
    '',
  ].join('\n');
}

function formatCniConfig(podNetwork: string, { first, last }: AddressRange): string {
  const gateway = getNodeAddress(podNetwork);
  const ranges = [[{ subnet: formatPodCidr(podNetwork), rangeStart: first, rangeEnd: last, gateway }]];
  return JSON.stringify({
    cniVersion: '0.4.0',
    name: 'sandlot',
    plugins: [
      {
        type: 'bridge',
        bridge: bridgeName,
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: { type: 'host-local', dataDir: machinePaths.cniState, ranges, routes: [{ dst: '0.0.0.0/0' }] },
      },
      { type: 'sandlot-policy', socket: machinePaths.policySocket },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  });
}
