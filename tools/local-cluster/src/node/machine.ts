import { access, readFile, writeFile } from 'node:fs/promises';
import { machinePaths } from '../cluster/paths.ts';
import { exec, execOrThrow } from '../process/exec.ts';

/** Debian packages that the node needs. */
export const nodePackages = [
  'conntrack',
  'containernetworking-plugins',
  'ethtool',
  'iproute2',
  'iptables',
  'kmod',
  'mount',
  'nftables',
  'runc',
  'socat',
] as const;

/** State of the machine before the node. `npm run down` restores it. */
export interface OriginalMachine {
  /** Kernel parameters that the node's components change. */
  sysctls: Record<string, string>;
  /** `family name` of every nftables table. */
  nftTables: string[];
  /** Those of `fixedFolders` that existed. */
  folders: string[];
}

// We set the first two, the kubelet sets the others.
const changedSysctls = [
  'net/ipv4/ip_forward',
  'net/bridge/bridge-nf-call-iptables',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxbytes',
  'kernel/keys/root_maxkeys',
  'vm/overcommit_memory',
  'vm/panic_on_oom',
];

const requiredSysctls = { 'net/ipv4/ip_forward': '1', 'net/bridge/bridge-nf-call-iptables': '1' };

const kernelModules = ['overlay', 'br_netfilter', 'nf_tables', 'nf_conntrack'];

/** Folders that components create under fixed names. `npm run down` removes them unless they existed before. */
export const fixedFolders = [
  '/var/lib/kubelet',
  '/var/log/containers',
  '/var/log/pods',
  '/run/containerd',
  '/var/lib/cni',
  '/opt/containerd',
  '/var/lib/containerd',
  '/usr/libexec/kubernetes',
];

/** Records the machine's original state once, loads kernel modules and sets kernel parameters. */
export async function prepareMachine(): Promise<void> {
  // Ignores failures: some kernels have the modules built in. The components report one that is really missing.
  await Promise.all(kernelModules.map((name) => exec(['modprobe', '--quiet', name])));
  if ((await readOriginal()) === undefined) {
    await writeFile(machinePaths.original, JSON.stringify(await observeMachine()));
  }
  for (const [name, value] of Object.entries(requiredSysctls)) await writeFile(`/proc/sys/${name}`, value);
}

/** Returns the machine's original state, or undefined if none was recorded. */
export async function readOriginal(): Promise<OriginalMachine | undefined> {
  const text = await readFile(machinePaths.original, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  return isOriginal(value) ? value : undefined;
}

/** Lists the names of the existing nftables tables. */
export async function listNftTables(): Promise<string[]> {
  const { stdout } = await execOrThrow(['nft', 'list', 'tables']);
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('table '))
    .map((line) => line.slice('table '.length).trim());
}

/** Whether runc can lower a container's OOM score, which needs CAP_SYS_RESOURCE. */
export async function canLowerOomScore(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  const effective = BigInt(`0x${/^CapEff:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  const capSysResource = 24n;
  return ((effective >> capSysResource) & 1n) === 1n;
}

async function observeMachine(): Promise<OriginalMachine> {
  const sysctls: Record<string, string> = {};
  for (const name of changedSysctls) {
    const value = await readFile(`/proc/sys/${name}`, 'utf8').catch(() => undefined);
    if (value !== undefined) sysctls[name] = value.trim();
  }
  const present = await Promise.all(
    fixedFolders.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  return { sysctls, nftTables: await listNftTables(), folders: fixedFolders.filter((_, index) => present[index]) };
}

function isOriginal(value: unknown): value is OriginalMachine {
  return (
    typeof value === 'object' && value !== null && 'sysctls' in value && 'nftTables' in value && 'folders' in value
  );
}
