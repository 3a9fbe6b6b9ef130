import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePaths } from '../cluster/paths.ts';
import { exec, execOrThrow } from '../process/exec.ts';

/** The bridge that connects all pods of the node. */
export const bridgeName = 'sandlot0';

/** Our own nftables table: `<family> <name>`. */
export const natTable = 'ip sandlot';

const prefixLength = 22;

/** Returns the pod network as a CIDR. */
export function formatPodCidr(podNetwork: string): string {
  return `${podNetwork}/${prefixLength}`;
}

/** Returns the address of the bridge, which is the node's address. */
export function getNodeAddress(podNetwork: string): string {
  return podNetwork.replace(/\d+$/, '1');
}

/** Creates or updates the bridge, the masquerading rules and the CNI configuration. */
export async function ensureNetwork(podNetwork: string): Promise<void> {
  if ((await exec(['ip', 'link', 'show', bridgeName])).code !== 0) {
    await execOrThrow(['ip', 'link', 'add', bridgeName, 'type', 'bridge']);
  }
  await execOrThrow(['ip', 'address', 'replace', `${getNodeAddress(podNetwork)}/${prefixLength}`, 'dev', bridgeName]);
  await execOrThrow(['ip', 'link', 'set', bridgeName, 'up']);
  await execOrThrow(['nft', '-f', '-'], { input: formatMasquerade(formatPodCidr(podNetwork)) });
  await mkdir(machinePaths.cniConfig, { recursive: true });
  await writeFile(join(machinePaths.cniConfig, '10-sandlot.conflist'), formatCniConfig(podNetwork));
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

function formatCniConfig(podNetwork: string): string {
  const ranges = [[{ subnet: formatPodCidr(podNetwork), gateway: getNodeAddress(podNetwork) }]];
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
