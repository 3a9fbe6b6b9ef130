import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import type { ControlPlane } from '@sandlot/local-cluster';
import { startControlPlane } from '@sandlot/local-cluster';
import { chartFolder, release, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { openRequests } from './requests.ts';
import type { Answer, Send } from './requests.ts';

/** Users of the stage. `tenant` may edit everything in its namespaces, `author` only objects of Sandlot. */
export const users = { tenant: 'tenant', author: 'author' } as const;

/** Username of a service of the release. */
export function accountOf(service: string): string {
  return `system:serviceaccount:${release.namespace}:${release.name}-${service}`;
}

/** A real API server with the CRDs, the roles and the policies of the chart. */
export interface Stage {
  readonly plane: ControlPlane;
  readonly send: Send;
  /** Tries a create without storing the object. */
  tryCreate(object: Draft, as?: string): Promise<Answer>;
  /** Creates an object as the administrator and returns its UID. Throws when it is refused. */
  create(object: Draft): Promise<string>;
  stop(): Promise<void>;
}

/** An object to create. */
export interface Draft {
  readonly kind: keyof typeof PATHS;
  readonly apiVersion?: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

const PATHS = {
  Sandbox: { group: 'agents.x-k8s.io/v1beta1', plural: 'sandboxes' },
  SandboxTemplate: { group: 'extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxtemplates' },
  SandboxClaim: { group: 'extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxclaims' },
  SandboxWarmPool: { group: 'extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxwarmpools' },
  SandboxSnapshot: { group: 'sandlot.dev/v1alpha1', plural: 'sandboxsnapshots' },
  Pod: { group: 'v1', plural: 'pods' },
  Service: { group: 'v1', plural: 'services' },
  PersistentVolumeClaim: { group: 'v1', plural: 'persistentvolumeclaims' },
  NetworkPolicy: { group: 'networking.k8s.io/v1', plural: 'networkpolicies' },
  Secret: { group: 'v1', plural: 'secrets' },
  PodDisruptionBudget: { group: 'policy/v1', plural: 'poddisruptionbudgets' },
} as const;

/** Path of an object, or of all of its kind without a name. */
export function buildPath({ kind, apiVersion, metadata: { namespace, name } }: Draft, withName = true): string {
  const group = apiVersion ?? PATHS[kind].group;
  const root = group === 'v1' ? '/api/v1' : `/apis/${group}`;
  return `${root}/namespaces/${namespace}/${PATHS[kind].plural}${withName ? `/${name}` : ''}`;
}

/** Completes a draft. */
export function complete(draft: Draft): object {
  return { apiVersion: PATHS[draft.kind].group, ...draft };
}

const KINDS = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'ClusterRole', 'ClusterRoleBinding'];

/** Starts a control plane with the chart's policies in force, and these namespaces with their labels. */
export async function startStage(
  places: Readonly<Record<string, Readonly<Record<string, string>>>>,
  values: object = {},
): Promise<Stage> {
  const plane = await startControlPlane({ audit: true, controllerManager: true, crds: [join(chartFolder, 'files/crds')] });
  const send = await openRequests(plane.kubeconfigPath);
  const objects = (await render(values)).filter(({ kind }) => KINDS.includes(kind));
  await apply(plane, [...Object.entries(places).map(buildNamespace), ...objects, ...buildBindings(Object.keys(places))]);
  const stage: Stage = {
    plane,
    send,
    tryCreate: (draft, as) =>
      send({ method: 'POST', path: `${buildPath(draft, false)}?dryRun=All`, body: complete(draft), as }),
    create: async (draft) => {
      const { status, message, body } = await send({ method: 'POST', path: buildPath(draft, false), body: complete(draft) });
      if (status !== 201) throw new Error(`create of ${draft.kind} ${draft.metadata.name}: ${status} ${message}`);
      return (body as { metadata: { uid: string } }).metadata.uid;
    },
    stop: () => plane.stop(),
  };
  await waitForAccounts(stage, Object.keys(places));
  return stage;
}

async function apply(plane: ControlPlane, items: readonly object[]): Promise<void> {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const { code, stderr } = await plane.kubectl(['apply', '--server-side', '-f', '-'], list);
  if (code !== 0) throw new Error(stderr);
}

function buildNamespace([name, labels]: readonly [string, object]): object {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

function buildBindings(places: readonly string[]): object[] {
  const roles = { [users.tenant]: ['edit', `${release.name}-edit`], [users.author]: [`${release.name}-edit`] };
  return places.flatMap((namespace) =>
    Object.entries(roles).flatMap(([user, names]) =>
      names.map((name) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { namespace, name: `${user}-${name}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      })),
    ),
  );
}

/** Pods can be created once the controller-manager has made the ServiceAccount `default`. */
async function waitForAccounts({ send }: Stage, places: readonly string[]): Promise<void> {
  for (const namespace of places) {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    await eventually(async () => (await send({ method: 'GET', path })).status === 200);
  }
}

/** Policies come into force within a second or two; resolves when the API server refuses this write. */
export async function waitForRefusal(call: () => Promise<Answer>): Promise<void> {
  await eventually(async () => (await call()).message.includes('ValidatingAdmissionPolicy'));
}

/** The status of a policy, once the controller-manager has checked its types. */
export async function readTypeWarnings({ send }: Stage, { metadata }: Rendered): Promise<unknown> {
  const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${metadata.name}`;
  let found: unknown;
  await eventually(async () => {
    const { body } = await send({ method: 'GET', path });
    const { status } = body as { status?: { observedGeneration?: number; typeChecking?: { expressionWarnings?: [] } } };
    found = status?.typeChecking?.expressionWarnings ?? [];
    return status?.observedGeneration !== undefined;
  });
  return found;
}

async function eventually(isDone: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (await isDone()) return;
    await sleep(50);
  }
  throw new Error('not true within thirty seconds');
}
