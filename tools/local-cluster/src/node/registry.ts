import type { Binaries } from '../binaries/ensure.ts';
import type { Component } from '../cluster/component.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { exec, execOrThrow } from '../process/exec.ts';
import { getNodeAddress } from './network.ts';

/** The registry that the node pulls from. Pods that push images reach it at the address of the node. */
export function buildRegistryComponent({ paths, choices, bin }: ClusterContext): Component {
  const address = `127.0.0.1:${choices.ports.registry}`;
  const addresses = `${address},${formatPodRegistry(choices)}`;
  return {
    name: 'registry',
    cwd: '/',
    argv: [bin('registry'), addresses, paths.registry],
    probe: { kind: 'http', url: `http://${address}/v2/` },
  };
}

/** Host and port of the registry for Pods. */
export function formatPodRegistry({
  podNetwork,
  ports,
}: Pick<ClusterContext['choices'], 'podNetwork' | 'ports'>): string {
  return `${getNodeAddress(podNetwork)}:${ports.registry}`;
}

/**
 * Returns the reference under which the local registry holds an image. Drops the registry's host name and adds `library/`
 * for official images of Docker Hub: `busybox` is `HOST/library/busybox:latest`, `ghcr.io/a/b:1` is `HOST/a/b:1`, and
 * `registry.k8s.io/pause:3.10` is `HOST/pause:3.10`.
 */
export function formatLocalReference(host: string, name: string): string {
  const [first = '', ...rest] = name.split('/');
  const isHost = rest.length > 0 && /[.:]|^localhost$/.test(first);
  const path = isHost ? rest.join('/') : name;
  const isOfficial = (!isHost || first === 'docker.io') && !path.includes('/');
  const repository = isOfficial ? `library/${path}` : path;
  return `${host}/${repository}${/[:@]/.test(repository) ? '' : ':latest'}`;
}

/** The registry to push to, and the binaries to push with. */
export interface RegistryAccess {
  host: string;
  bin: Binaries;
}

/** Pushes an image archive under a name and returns its digest in the registry. */
export async function pushImage(
  registry: RegistryAccess,
  image: { archive: string; name: string },
): Promise<{ digest: string }> {
  const reference = formatLocalReference(registry.host, image.name);
  await execOrThrow([registry.bin('crane'), 'push', '--insecure', image.archive, reference], { timeoutMs: 600_000 });
  const digest = await readImageDigest(registry, image.name);
  return { digest: digest ?? '' };
}

/** Returns the digest of an image in the registry, or undefined if it is not there. */
export async function readImageDigest(registry: RegistryAccess, name: string): Promise<string | undefined> {
  const reference = formatLocalReference(registry.host, name);
  const { code, stdout } = await exec([registry.bin('crane'), 'digest', '--insecure', reference]);
  return code === 0 ? stdout.trim() : undefined;
}
