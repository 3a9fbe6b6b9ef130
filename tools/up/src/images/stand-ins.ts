import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkoutRoot } from '../paths.ts';

/** A popular image name that the local cluster answers with an image of ours. */
export interface StandIn {
  readonly image: 'busybox' | 'debian';
  /** `library/ubuntu`: the path in a registry. */
  readonly repository: string;
  readonly tag: string;
}

interface StandInsFile {
  readonly image: StandIn['image'];
  readonly serves: readonly Readonly<Record<string, readonly string[]>>[];
}

/** The list in images/stand-ins.yaml, flat. The host name is dropped: the cluster asks its registry for every host. */
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
