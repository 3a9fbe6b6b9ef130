import { copyFile, readFile, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { labels } from '@sandlot/api-types';
import { nodes, pods } from '@sandlot/kube';
import { machinePaths } from '@sandlot/local-cluster';
import { inject } from 'vitest';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';
import { findInRun } from './containerd.ts';

/** Where the programs of an added node find the copy, below their `/var/lib/sandlot`. */
const COPY = 'runsc-of-another-version';
/** How the version of a Go module begins that no release has. The other one has the same length. */
const [VERSION, OTHER] = ['v0.0.0-', 'v9.9.9-'] as const;

/**
 * Gives the node component of an added node a runsc that names another version, as after an upgrade of that node alone. Returns
 * how to take it back. Both wait for the label of the Node.
 */
export async function upgradeRunscOf(team: Team, nodeName: string): Promise<() => Promise<void>> {
  const link = findInRun(nodeName, machinePaths.runsc);
  const program = await readlink(link);
  const before = await readFingerprint(team, nodeName);
  await copyWithOtherVersion(program, join(machinePaths.addedLib, nodeName, 'lib', COPY));
  await point(link, join(machinePaths.lib, COPY));
  await restartComponent(team, nodeName, (fingerprint) => fingerprint !== before);
  return async () => {
    await point(link, program);
    await restartComponent(team, nodeName, (fingerprint) => fingerprint === before);
  };
}

/** The label of the Node, by which Pods find the nodes that can restore them. */
export async function readFingerprint({ client }: Team, name: string): Promise<string> {
  const { metadata } = await client.get(nodes, { name });
  return metadata.labels?.[labels.snapshotFingerprint] ?? '';
}

async function copyWithOtherVersion(program: string, copy: string): Promise<void> {
  await copyFile(program, copy);
  const bytes = await readFile(copy);
  for (let at = bytes.indexOf(VERSION); at >= 0; at = bytes.indexOf(VERSION, at + 1)) bytes.write(OTHER, at, 'latin1');
  await writeFile(copy, bytes);
}

async function point(link: string, target: string): Promise<void> {
  await symlink(target, `${link}.partial`);
  await rename(`${link}.partial`, link);
}

/** The component goes on with the file that it opened, until it restarts. */
async function restartComponent(
  { client }: Team,
  nodeName: string,
  isWanted: (fingerprint: string) => boolean,
): Promise<void> {
  const namespace = inject('releaseNamespace');
  const labelSelector = 'app.kubernetes.io/component=node';
  const { items } = await client.list(pods, { namespace, labelSelector });
  const here = items.filter(({ spec }) => spec.nodeName === nodeName);
  for (const { metadata } of here) await client.delete(pods, { namespace, name: metadata.name ?? '' });
  await eventually(`the label of ${nodeName} names its runsc`, async () => {
    const { metadata } = await client.get(nodes, { name: nodeName });
    return isWanted(metadata.labels?.[labels.snapshotFingerprint] ?? '') ? true : undefined;
  });
}
