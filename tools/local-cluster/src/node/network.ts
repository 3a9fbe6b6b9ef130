import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { machinePaths } from '../cluster/paths.ts';
import { exec, execOrThrow } from '../process/exec.ts';

/** The node's bridge; pods hang on it. */
export const bridgeName = 'sandlot0';

/** Our own nftables table: `<family> <name>`. */
export const natTable = 'ip sandlot';

const prefixLength = 22;

/** The pod network as CIDR. */
export function podCidr(podNetwork: string): string {
  return `${podNetwork}/${prefixLength}`;
}

/** The address of the bridge, which is the node's address. */
export function nodeAddress(podNetwork: string): string {
  return podNetwork.replace(/\d+$/, '1');
}

/** Bridge, masquerading and CNI configuration; harmless when they are there. */
export async function ensureNetwork(podNetwork: string): Promise<void> {
  if ((await exec(['ip', 'link', 'show', bridgeName])).code !== 0) {
    await execOrThrow(['ip', 'link', 'add', bridgeName, 'type', 'bridge']);
  }
  await execOrThrow(['ip', 'address', 'replace', `${nodeAddress(podNetwork)}/${prefixLength}`, 'dev', bridgeName]);
  await execOrThrow(['ip', 'link', 'set', bridgeName, 'up']);
  await execOrThrow(['nft', '-f', '-'], { input: masquerade(podCidr(podNetwork)) });
  await mkdir(machinePaths.cniConfig, { recursive: true });
  await writeFile(join(machinePaths.cniConfig, '10-sandlot.conflist'), cniConfig(podNetwork));
}

/** Pods reach the world under the machine's address. The table is replaced as a whole, in one transaction. */
function masquerade(pods: string): string {
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

function cniConfig(podNetwork: string): string {
  const ranges = [[{ subnet: podCidr(podNetwork), gateway: nodeAddress(podNetwork) }]];
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
