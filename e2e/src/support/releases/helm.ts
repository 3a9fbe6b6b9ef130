import { join } from 'node:path';
import { labels } from '@sandlot/api-types';
import { checkoutRoot, writeAccess } from '@sandlot/up';
import { inject } from 'vitest';
import { runKubectlOrFail } from '../kubectl.ts';
import { helm, helmWithValues, waitForRollout } from '../nodes/release.ts';
import type { Team } from '../team.ts';
import type { Release } from './previous.ts';

const NAME = 'sandlot';
const WAIT = ['--wait', '--timeout', '8m'];

/** The chart of this checkout with the values of the release that is installed, which name the images of this checkout. */
export async function readCurrent(): Promise<Release> {
  const values = await helm(['get', 'values', NAME, '--output', 'json']);
  return { chart: join(checkoutRoot, 'charts/sandlot'), values };
}

/** Removes the release. Its CRDs with all objects, its credentials and the disks of NATS and Redis stay. */
export async function uninstall(): Promise<void> {
  await helm(['uninstall', NAME, ...WAIT]);
}

/** Removes what an uninstallation leaves in the namespace of the release, so that the next one begins as on a new cluster. */
export async function removeLeftovers(): Promise<void> {
  const inRelease = ['--namespace', inject('releaseNamespace')];
  await runKubectlOrFail([...inRelease, 'delete', 'secrets', '--selector', 'app.kubernetes.io/part-of=sandlot']);
  await runKubectlOrFail([...inRelease, 'delete', 'persistentvolumeclaims', '--all']);
}

/** Lets pools replace their members, whose daemons have keys of an installation before {@link removeLeftovers}. */
export async function renewMembers(): Promise<void> {
  await runKubectlOrFail(['delete', 'sandboxes', '--all-namespaces', '--selector', labels.warmPoolMember]);
}

/** Installs a release, waits until it runs, and writes its new address for clients. */
export async function install(
  { chart, values }: Release,
  { client }: Pick<Team, 'client'>,
  flags: readonly string[] = [],
): Promise<void> {
  await helmWithValues(['install', NAME, chart, ...WAIT, ...flags], [values]);
  await writeAccess(inject('kubeconfigPath'), client);
  await waitForRollout();
}

/** The command of docs/operations/upgrade.md#upgrade. */
export async function upgradeTo({ chart, values }: Release): Promise<void> {
  await helmWithValues(['upgrade', NAME, chart, '--reset-values', ...WAIT], [values]);
  await waitForRollout();
}

/** The command of docs/operations/upgrade.md#roll-back. */
export async function rollBack(): Promise<void> {
  await helm(['rollback', NAME, ...WAIT]);
  await waitForRollout();
}
