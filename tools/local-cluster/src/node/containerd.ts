import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { pauseImage } from './pause-image.ts';
import { mayLowerOomScore } from './machine.ts';

/** containerd with everything of its own: socket, state, images, CNI configuration. The system's is never touched. */
export async function containerdComponent({ paths, choices }: ClusterContext): Promise<Component> {
  await writeRegistryHosts(choices.ports.registry);
  const configuration = containerdConfig({ root: paths.containerd, restrictOomScore: !(await mayLowerOomScore()) });
  const file = join(machinePaths.run, 'containerd.toml');
  await mkdir(machinePaths.run, { recursive: true, mode: 0o700 });
  await writeFile(file, configuration);
  return {
    name: 'containerd',
    cwd: '/',
    argv: ['containerd', '--config', file],
    configuration,
    probe: { kind: 'command', argv: ['ctr', '--address', machinePaths.containerdSocket, 'version'] },
  };
}

interface ContainerdSettings {
  root: string;
  /** Where CAP_SYS_RESOURCE is withheld runc dies on a negative OOM score. */
  restrictOomScore: boolean;
}

function containerdConfig(settings: ContainerdSettings): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `version = 2
root = ${quote(settings.root)}
state = ${quote(machinePaths.containerdState)}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
address = ${quote(machinePaths.containerdSocket)}

[plugins."io.containerd.internal.v1.opt"]
path = ${quote(join(settings.root, 'opt'))}

[${cri}]
sandbox_image = ${quote(pauseImage)}
restrict_oom_score_adj = ${settings.restrictOomScore}
netns_mounts_under_state_dir = true
tolerate_missing_hugetlb_controller = true
disable_hugetlb_controller = true

[${cri}.cni]
bin_dir = "/usr/lib/cni"
conf_dir = ${quote(machinePaths.cniConfig)}

[${cri}.registry]
config_path = ${quote(machinePaths.registryHosts)}

[${cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
`;
}

/** The local registry answers first for every registry's images; what it does not have comes from the real one. */
async function writeRegistryHosts(port: number): Promise<void> {
  const mirror = `[host."http://127.0.0.1:${port}"]\n  capabilities = ["pull", "resolve"]\n`;
  const hosts = { _default: mirror, 'docker.io': `server = "https://registry-1.docker.io"\n\n${mirror}` };
  for (const [registry, text] of Object.entries(hosts)) {
    const folder = join(machinePaths.registryHosts, registry);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'hosts.toml'), text);
  }
}

/** JSON strings are TOML basic strings. */
function quote(text: string): string {
  return JSON.stringify(text);
}
