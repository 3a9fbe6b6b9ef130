import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkoutRoot } from '../paths.ts';

/** A popular image name for which the local cluster serves one of our images. */
export interface StandIn {
  readonly image: 'busybox' | 'debian';
  /** Path in a registry, such as `library/ubuntu`. */
  readonly repository: string;
  readonly tag: string;
}

interface StandInsFile {
  readonly image: StandIn['image'];
  readonly serves: readonly Readonly<Record<string, readonly string[]>>[];
}

/** Reads images/stand-ins.yaml. Drops host names, because the node asks the local registry first for every host. */
export async function readStandIns(): Promise<readonly StandIn[]> {
  const text = await readFile(join(checkoutRoot, 'images/stand-ins.yaml'), 'utf8');
  const groups = parse(text) as readonly StandInsFile[];
  return groups.flatMap(({ image, serves }) =>
    serves.flatMap((entry) =>
      Object.entries(entry).flatMap(([name, tags]) =>
        tags.map((tag) => ({ image, repository: name.slice(name.indexOf('/') + 1), tag })),
      ),
    ),
  );
}
