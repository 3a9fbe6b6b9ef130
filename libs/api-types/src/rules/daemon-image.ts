import type { Pod } from '@sandlot/kube/objects';

/** Volume of a Pod with the program of the daemon: docs/reference/sandbox-template.md#runtime-injection. */
export const DAEMON_VOLUME = 'sandlot-runtime';

/** The image of the daemon that the node of `pod` mounts; undefined when it mounts none. */
export function findDaemonImage({ spec: { volumes = [] } }: Pick<Pod, 'spec'>): string | undefined {
  const image = volumes.find(({ name }) => name === DAEMON_VOLUME)?.['image'];
  const reference = typeof image === 'object' && image !== null && 'reference' in image ? image.reference : undefined;
  return typeof reference === 'string' ? reference : undefined;
}
