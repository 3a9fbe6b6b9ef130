import { exec } from '../process/exec.ts';
import { listNftTables, readOriginal } from './machine.ts';
import { policyTable } from './network-policy.ts';
import { natTable } from './network.ts';

const kubeProxyTables = ['ip kube-proxy', 'ip6 kube-proxy'];

// iptables-nft creates these tables on first use. The portmap plugin uses them for host ports.
const iptablesTables = ['ip nat', 'ip filter', 'ip mangle', 'ip raw', 'ip6 nat', 'ip6 filter', 'ip6 mangle', 'ip6 raw'];

/** Removes our tables, kube-proxy's, the portmap plugin's chains, and the iptables tables added since the node started. */
export async function removeFirewall(): Promise<void> {
  // Without nft no node was ever created, so there is nothing to remove.
  const present = await listNftTables().catch((): string[] => []);
  for (const table of [natTable, policyTable, ...kubeProxyTables])
    if (present.includes(table)) await deleteTable(table);
  await removePortmapChains();
  const before = (await readOriginal())?.nftTables;
  if (before === undefined) return;
  for (const table of iptablesTables) {
    if (present.includes(table) && !before.includes(table) && (await isEmptyTable(table))) await deleteTable(table);
  }
}

async function removePortmapChains(): Promise<void> {
  for (const suffix of ['', '6']) {
    const { stdout, code } = await exec([`iptables${suffix}-save`, '-t', 'nat']);
    if (code !== 0 || !stdout.includes('CNI-')) continue;
    await exec([`iptables${suffix}-restore`], { input: withoutPortmap(stdout) });
  }
}

/** Removes the portmap plugin's chains, and the rules that name them, from the output of iptables-save. */
export function withoutPortmap(saved: string): string {
  return saved
    .split('\n')
    .filter((line) => !/\bCNI-(HOSTPORT|DN)-/.test(line))
    .join('\n');
}

async function isEmptyTable(table: string): Promise<boolean> {
  const { stdout } = await exec(['nft', 'list', 'table', ...table.split(' ')]);
  return stdout
    .split('\n')
    .map((line) => line.trim())
    .every((line) => /^(table .*\{|chain .*\{|type .*;|\}|#.*|)$/.test(line));
}

async function deleteTable(table: string): Promise<void> {
  await exec(['nft', 'delete', 'table', ...table.split(' ')]);
}
