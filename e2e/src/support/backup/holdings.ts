import { labels, sandboxClaims, sandboxes } from '@sandlot/api-types';
import { isNotFound } from '@sandlot/kube';
import type { KubeObject, Pod, Resource } from '@sandlot/kube';
import { claimManifest, formatPoolManifest, formatTemplateManifest } from '../manifests.ts';
import { getSandboxName, readSandboxNamed, waitForReadyClaim } from '../sandboxes.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';
import { readPods } from './pods.ts';

/** Where the sandboxes of the template have their volume. */
const FOLDER = '/scratch';

/** The name of the disk of a Sandbox of this template. */
export const formatScratch = (sandbox: string): string => `scratch-${sandbox}`;

/** A template whose sandboxes have a volume, and its pool `boxes`. */
export const formatStock = (
  replicas: number,
): string => `${formatTemplateManifest('box', `image: busybox, volumeMounts: [{name: scratch, mountPath: ${FOLDER}}]`)}
  volumeClaimTemplates:
  - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}}
---${formatPoolManifest('boxes', 'box', replicas)}`;

/** A Ready claim with its Sandbox and its Pod, as they were at some moment. */
export interface Holding {
  readonly name: string;
  readonly claimUid: string | undefined;
  readonly sandbox: string;
  readonly sandboxUid: string | undefined;
  /** Undefined while the Sandbox sleeps. */
  readonly pod: Pod | undefined;
}

const SPECS = {
  warm: ['{warmPoolRef: {name: boxes}}', 'v1beta1'],
  cold: ['{sandboxTemplateRef: {name: box}, warmpool: none}', 'v1alpha1'],
} as const;

/** Makes a claim, waits until it is Ready, and writes its name into the volume of its sandbox. */
export async function hold(team: Team, name: string, start: keyof typeof SPECS = 'warm'): Promise<Holding> {
  const [spec, version] = SPECS[start];
  await team.apply(claimManifest(name, spec, version));
  await waitForReadyClaim(team, name);
  const holding = await readHolding(team, name);
  await team.sh(holding.sandbox, `echo ${name} > ${FOLDER}/owner && sync`);
  return holding;
}

/** Reads a claim that has a Sandbox. */
export async function readHolding(team: Team, name: string): Promise<Holding> {
  const { client, namespace } = team;
  const { metadata, status } = await client.get(sandboxClaims, { namespace, name });
  const sandbox = getSandboxName({ metadata, status, spec: {} });
  const found = await readSandboxNamed(team, sandbox);
  const pod = (await readPods(team)).get(sandbox);
  return { name, claimUid: metadata.uid, sandbox, sandboxUid: found.metadata.uid, pod };
}

/** The name of the claim that wrote into the volume of this sandbox; empty when none did. */
export function readOwner(team: Team, sandbox: string): Promise<string> {
  return team.sh(sandbox, `cat ${FOLDER}/owner || true`);
}

/** The UIDs of the members that the pools of the namespace have. */
export async function listMembers({ client, namespace }: Team): Promise<readonly (string | undefined)[]> {
  const { items } = await client.listAll(sandboxes, { namespace, labelSelector: labels.warmPoolMember });
  return items.map(({ metadata }) => metadata.uid);
}

/** Waits until the API server does not know the object. */
export async function waitUntilAbsent(team: Team, resource: Resource<KubeObject>, name: string): Promise<void> {
  await eventually(`${resource.kind} ${name} is gone`, () => isAbsent(team, resource, name));
}

async function isAbsent({ client, namespace }: Team, resource: Resource<KubeObject>, name: string) {
  try {
    await client.get(resource, { namespace, name });
    return undefined;
  } catch (error) {
    if (isNotFound(error)) return true as const;
    throw error;
  }
}
