import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { inClusterCredentials } from './in-cluster.ts';
import { kubeconfigCredentials } from './kubeconfig.ts';
import type { Credentials } from './credentials.ts';

/**
 * In a pod, and unless a kubeconfig is named: the mounted service account. Otherwise the kubeconfig given, or the one
 * kubectl would use. Rejects when neither is there or the context does not exist.
 */
export async function loadCredentials(
  options: {
    kubeconfig?: string | undefined;
    context?: string | undefined;
    /** Folder of the service account's token and CA; default where the kubelet mounts it. */
    mount?: string | undefined;
    clock?: Clock | undefined;
  } = {},
): Promise<Credentials> {
  const { kubeconfig, mount, clock = systemClock } = options;
  const mounted = kubeconfig === undefined ? await inClusterCredentials({ clock, env: process.env, mount }) : undefined;
  return mounted ?? kubeconfigCredentials({ ...options, clock });
}
