import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { gvisorHandler, gvisorPodAnnotations, formatGvisorShimConfig } from './gvisor.ts';
import { canLowerOomScore } from './machine.ts';
import { writeCniConfig } from './network.ts';
import { pauseImage } from './pause-image.ts';
import type { NodePlace } from './place.ts';
import { findInRun } from './place.ts';

/** Where containerd finds runc, mount and the like: fixed, so that a change of this process's PATH does not restart it. */
const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

const configFile = join(machinePaths.run, 'containerd.toml');
const gvisorConfigFile = join(machinePaths.run, 'gvisor.toml');

/** Our own containerd, with its own socket, state, images and CNI configuration. Never touches the system's containerd. */
export async function buildContainerdComponent(context: ClusterContext, place: NodePlace): Promise<Component> {
  const { choices, bin } = context;
  await mkdir(place.run, { recursive: true, mode: 0o700 });
  await writeCniConfig(findInRun(place, machinePaths.cniConfig), choices.podNetwork, place.podRange);
  await writeRegistryHosts(findInRun(place, machinePaths.registryHosts), choices.ports.registry);
  const configuration = formatContainerdConfig({
    root: place.containerd,
    restrictOomScore: !(await canLowerOomScore()),
    gvisorConfigFile,
    shims: { runc: bin('containerd-shim-runc-v2'), runsc: bin('containerd-shim-runsc-v1') },
  });
  await writeFile(findInRun(place, configFile), configuration);
  // The shim reads this file for every pod, so a change needs no restart.
  await writeFile(findInRun(place, gvisorConfigFile), formatGvisorShimConfig({ runsc: bin('runsc') }));
  await linkRunsc(bin('runsc'), findInRun(place, machinePaths.runsc));
  return {
    name: `containerd${place.suffix}`,
    cwd: '/',
    argv: [...place.enter, bin('containerd'), '--config', configFile],
    env: { PATH: systemFolders.join(':'), ...place.env },
    configuration,
    // containerd answers other calls before it has recovered its pods; a kubelet that starts then exits.
    probe: {
      kind: 'grpc',
      socket: findInRun(place, machinePaths.containerdSocket),
      path: '/runtime.v1.RuntimeService/Version',
    },
  };
}

interface ContainerdSettings {
  root: string;
  /** Set on machines without CAP_SYS_RESOURCE: runc fails there on a negative OOM score. */
  restrictOomScore: boolean;
  gvisorConfigFile: string;
  /** The programs that run pods, by handler. */
  shims: { runc: string; runsc: string };
}

/** Returns containerd's configuration file, version 3. */
export function formatContainerdConfig(settings: ContainerdSettings): string {
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  const images = 'plugins."io.containerd.cri.v1.images"';
  return `version = 3
root = ${quote(settings.root)}
state = ${quote(machinePaths.containerdState)}
disabled_plugins = [${unusedPlugins.map(quote).join(', ')}]

[grpc]
address = ${quote(machinePaths.containerdSocket)}

[plugins."io.containerd.internal.v1.opt"]
path = ${quote(join(settings.root, 'opt'))}

# Its socket would be outside our folders.
[plugins."io.containerd.nri.v1.nri"]
disable = true

[${images}]
snapshotter = "overlayfs"

[${images}.pinned_images]
sandbox = ${quote(pauseImage)}

[${images}.registry]
config_path = ${quote(machinePaths.registryHosts)}

[${runtime}]
restrict_oom_score_adj = ${settings.restrictOomScore}
netns_mounts_under_state_dir = true
tolerate_missing_hugetlb_controller = true
disable_hugetlb_controller = true

[${runtime}.cni]
bin_dirs = [${quote(machinePaths.cniPlugins)}]
conf_dir = ${quote(machinePaths.cniConfig)}

[${runtime}.containerd]
default_runtime_name = "runc"

[${runtime}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
runtime_path = ${quote(settings.shims.runc)}

[${runtime}.containerd.runtimes.runc.options]
SystemdCgroup = false

[${runtime}.containerd.runtimes.${gvisorHandler}]
runtime_type = "io.containerd.runsc.v1"
runtime_path = ${quote(settings.shims.runsc)}
pod_annotations = [${gvisorPodAnnotations.map(quote).join(', ')}]

[${runtime}.containerd.runtimes.${gvisorHandler}.options]
TypeUrl = "io.containerd.runsc.v1.options"
ConfigPath = ${quote(settings.gvisorConfigFile)}
`;
}

/** Snapshotters that the machine cannot serve. */
const unusedPlugins = [
  'io.containerd.snapshotter.v1.blockfile',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.erofs',
  'io.containerd.snapshotter.v1.zfs',
];

/** Gives gVisor's program a path that stays, for Pods that mount it. */
async function linkRunsc(program: string, link: string): Promise<void> {
  const partial = `${link}.partial`;
  await rm(partial, { force: true });
  await symlink(program, partial);
  await rename(partial, link);
}

/** Makes containerd try the local registry first for every image, and then the image's own registry. */
async function writeRegistryHosts(root: string, port: number): Promise<void> {
  const mirror = `[host."http://127.0.0.1:${port}"]\n  capabilities = ["pull", "resolve"]\n`;
  const hosts = { _default: mirror, 'docker.io': `server = "https://registry-1.docker.io"\n\n${mirror}` };
  for (const [registry, text] of Object.entries(hosts)) {
    const folder = join(root, registry);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'hosts.toml'), text);
  }
}

/** A JSON string is a valid TOML basic string. */
function quote(text: string): string {
  return JSON.stringify(text);
}
