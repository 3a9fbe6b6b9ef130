import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { loadInClusterCredentials } from './in-cluster.ts';
import { loadKubeconfigCredentials } from './kubeconfig.ts';
import type { Credentials } from './credentials.ts';

/**
 * Loads the given kubeconfig; else, in a pod, the mounted service account; else the kubeconfig that kubectl would use.
 * Rejects when none of them exists or the context does not exist.
 */
export async function loadCredentials(
  options: {
    kubeconfig?: string | undefined;
    context?: string | undefined;
    /** Folder of the service account's token and CA. Default: where the kubelet mounts it. */
    mount?: string | undefined;
    clock?: Clock | undefined;
  } = {},
): Promise<Credentials> {
  const { kubeconfig, mount, clock = systemClock } = options;
  const mounted =
    kubeconfig === undefined ? await loadInClusterCredentials({ clock, env: process.env, mount }) : undefined;
  return mounted ?? loadKubeconfigCredentials({ ...options, clock });
}
