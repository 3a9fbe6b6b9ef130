import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { inClusterCredentials } from './credentials-in-cluster.ts';
import { kubeconfigCredentials } from './credentials-kubeconfig.ts';

/** How to reach an API server and prove who we are. The fields are read again for every new connection. */
export interface Credentials {
  /** `https://host:port`, optionally with a path. `http://` means HTTP/2 in clear text, which only test servers speak. */
  readonly server: string;
  /** PEM; absent: the public roots. */
  readonly ca?: string | Buffer | undefined;
  /** PEM of the client certificate and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** Accepts any server certificate. */
  readonly insecure?: boolean | undefined;
  /** Name the server's certificate must carry, when it is not the host of `server`. */
  readonly serverName?: string | undefined;
  /** User to act as, sent as `Impersonate-User`. */
  readonly impersonate?: string | undefined;
  /** Value of the Authorization header. Asked for before every request, so it answers from memory most of the time. */
  authorization(): Promise<string | undefined>;
  /** Called after a 401: the next answers come from the source, not from memory. */
  refresh?(): Promise<void>;
}

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
