import { pods } from '@sandlot/kube';
import { getIdentity } from '../backup/pods.ts';
import { claimManifest, formatPoolManifest, formatTemplateManifest } from '../manifests.ts';
import { getSandboxName, readSandboxNamed, waitForReadyClaim } from '../sandboxes.ts';
import { patchSpec, waitForReadySandbox } from '../lifecycle.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';

/** Prefixes of the names of what was made under each of the two, and at the end. */
export type Era = 'sandlot' | 'upstream' | 'again';

const FOLDER = '/scratch';
const POOL = 'boxes';

/** The template `box`, whose sandboxes have a volume, and its pool. */
export const formatStock = (): string =>
  `${formatTemplateManifest('box', `image: busybox, volumeMounts: [{name: scratch, mountPath: ${FOLDER}}]`)}
  volumeClaimTemplates:
  - {metadata: {name: scratch}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}}
---${formatPoolManifest(POOL, 'box', 2)}`;

/** A Sandbox of its author in one of the two versions. */
const formatAuthored = (name: string, version: 'v1alpha1' | 'v1beta1'): string => `
apiVersion: agents.x-k8s.io/${version}
kind: Sandbox
metadata: {name: ${name}}
spec:
  ${version === 'v1alpha1' ? 'replicas: 1' : 'operatingMode: Running'}
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: box, image: busybox, command: [sleep, infinity]}]
`;

const SPECS = {
  'by-pool': [`{warmPoolRef: {name: ${POOL}}}`, 'v1beta1'],
  'by-template': ['{sandboxTemplateRef: {name: box}}', 'v1alpha1'],
  cold: ['{sandboxTemplateRef: {name: box}, warmpool: none}', 'v1alpha1'],
} as const;
const AUTHORED = ['v1alpha1', 'v1beta1'] as const;

/** What lives across a change of the controller. */
export interface Living {
  /** Sandbox by claim, for claims of each kind. */
  readonly claims: ReadonlyMap<string, string>;
  /** Running Sandboxes, with the identity of their Pods. */
  readonly running: ReadonlyMap<string, string>;
  /** Suspended Sandboxes of their authors. */
  readonly suspended: readonly string[];
}

/** Makes claims and Sandboxes in both versions, each with a file that names it, and suspends some. */
export async function makeLiving(team: Team, era: Era): Promise<Living> {
  const claims = new Map<string, string>();
  for (const [kind, [spec, version]] of Object.entries(SPECS)) {
    const name = `${era}-${kind}`;
    await team.apply(claimManifest(name, spec, version));
    const sandbox = getSandboxName(await waitForReadyClaim(team, name));
    await team.sh(sandbox, `echo ${name} > ${FOLDER}/owner && sync`);
    claims.set(name, sandbox);
  }
  const authored = AUTHORED.map((version) => `${era}-authored-${version}`);
  const suspended = AUTHORED.map((version) => `${era}-suspended-${version}`);
  for (const names of [authored, suspended]) {
    for (const [index, name] of names.entries()) await team.apply(formatAuthored(name, AUTHORED[index] ?? 'v1beta1'));
  }
  await Promise.all([...authored, ...suspended].map((name) => waitForRunning(team, name)));
  await suspendInBothVersions(team, suspended);
  const running = await readIdentities(team, [...claims.values(), ...authored]);
  return { claims, running, suspended };
}

async function suspendInBothVersions(team: Team, [old = '', current = '']: readonly string[]): Promise<void> {
  await team.kubectl('scale', 'sandboxes.v1alpha1.agents.x-k8s.io', old, '--replicas=0');
  await patchSpec(team, current, { operatingMode: 'Suspended' });
  for (const name of [old, current]) await waitUntilPodIsGone(team, name);
}

const waitForRunning = (team: Team, name: string): Promise<unknown> =>
  eventually(`Sandbox ${name} is Ready`, async () => {
    const { status } = await readSandboxNamed(team, name);
    return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true
      ? true
      : undefined;
  });

async function waitUntilPodIsGone(team: Team, name: string): Promise<void> {
  await eventually(`the Pod of ${name} is gone`, async () =>
    (await listPodNames(team)).includes(name) ? undefined : true,
  );
}

async function listPodNames({ client, namespace }: Team): Promise<readonly string[]> {
  const { items } = await client.listAll(pods, { namespace });
  return items.map(({ metadata }) => metadata.name ?? '');
}

/** The Pods of Sandboxes, which have the same name, with the starts of their containers. */
async function readIdentities({ client, namespace }: Team, names: Iterable<string>) {
  const entries = [...names].map(async (name) => {
    return [name, getIdentity(await client.get(pods, { namespace, name }))] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Which of the living are not as they were: a claim with another Sandbox, another Pod, another file, a Pod of a sleeper. */
export async function listTouched(team: Team, { claims, running, suspended }: Living): Promise<readonly string[]> {
  const touched: string[] = [];
  for (const [name, sandbox] of claims) {
    if (getSandboxName(await waitForReadyClaim(team, name)) !== sandbox) touched.push(`claim ${name}`);
    if ((await team.sh(sandbox, `cat ${FOLDER}/owner`)) !== name) touched.push(`the file of ${name}`);
  }
  const now = await readIdentities(team, running.keys());
  for (const [name, identity] of running) if (now.get(name) !== identity) touched.push(`the Pod of ${name}`);
  const there = await listPodNames(team);
  return [...touched, ...suspended.filter((name) => there.includes(name)).map((name) => `the sleeper ${name}`)];
}

/** Wakes Sandboxes as their authors do. */
export async function wakeAll(team: Team, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { spec } = await readSandboxNamed(team, name);
    await patchSpec(team, name, spec.replicas === undefined ? { operatingMode: 'Running' } : { replicas: 1 });
  }
  await Promise.all(names.map((name) => waitForReadySandbox(team, name)));
}
