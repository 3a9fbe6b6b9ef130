import {
  annotations,
  findDaemonImage,
  getPodName,
  isDraining,
  isHibernationOf,
  isWithoutTemplate,
  labels,
  nameHash,
  needsHibernation,
  resolveMode,
  sandboxes,
  sandboxTemplates,
} from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot } from '@sandlot/api-types';
import { findController, nodes, pods } from '@sandlot/kube';
import type { KubeClient, Pod } from '@sandlot/kube';
import type { PodLook, SourceLook, TemplateLook } from '../plan/scene.ts';

/** Reads the objects themselves: the controller watches neither all Sandboxes nor all Pods. */
export async function lookAtSource(
  client: KubeClient,
  object: SandboxSnapshot,
  signal: AbortSignal,
): Promise<SourceLook> {
  const { namespace } = object.metadata;
  const sandbox = await client.find(sandboxes, { namespace, name: object.spec.sandboxName }, { signal });
  if (sandbox === undefined || sandbox.metadata.deletionTimestamp !== undefined) return {};
  const pod = await client.find(pods, { namespace, name: getPodName(sandbox) }, { signal });
  return {
    sandbox: {
      uid: sandbox.metadata.uid ?? '',
      hibernates: mayHibernate(object, sandbox) && (await isLeaving(client, { sandbox, pod, signal })),
      object: sandbox,
    },
    pod: readPod(sandbox, pod),
    templates: await lookAtTemplates(client, { object, sandbox }, signal),
  };
}

function mayHibernate(object: SandboxSnapshot, sandbox: Sandbox): boolean {
  return needsHibernation(sandbox.spec) && isHibernationOf(object, sandbox);
}

interface Leaving {
  readonly sandbox: Sandbox;
  readonly pod: Pod | undefined;
  readonly signal: AbortSignal;
}

/**
 * Whether the Pod may stand still for good: its Sandbox is suspended, or its node is being emptied. The cache of Nodes may lag
 * behind the one of the sandbox-controller, so the Node is read.
 */
async function isLeaving(client: KubeClient, { sandbox, pod, signal }: Leaving): Promise<boolean> {
  if (resolveMode(sandbox.spec) === 'Suspended') return true;
  const nodeName = pod?.spec.nodeName;
  if (nodeName === undefined) return false;
  const node = await client.find(nodes, { name: nodeName }, { signal });
  return node !== undefined && isDraining(node);
}

function readPod({ metadata: { uid } }: Sandbox, pod: Pod | undefined): PodLook | undefined {
  if (pod === undefined || findController(pod)?.uid !== uid) return undefined;
  const { metadata, spec, status } = pod;
  const isRunning = metadata.deletionTimestamp === undefined && status?.phase === 'Running';
  if (!isRunning || spec.nodeName === undefined) return undefined;
  const [daemonImage, hasToken] = [findDaemonImage(pod), mountsToken(pod)];
  return { name: metadata.name ?? '', uid: metadata.uid ?? '', nodeName: spec.nodeName, daemonImage, hasToken };
}

/** Kubernetes gives a Pod with a token a volume whose name begins so. */
function mountsToken({ spec: { volumes = [] } }: Pod): boolean {
  return volumes.some(({ name }) => name.startsWith('kube-api-access-'));
}

async function lookAtTemplates(
  client: KubeClient,
  { object, sandbox }: { readonly object: SandboxSnapshot; readonly sandbox: Sandbox },
  signal: AbortSignal,
): Promise<TemplateLook | undefined> {
  const { templateName } = object.spec;
  if (templateName === undefined) return undefined;
  const { namespace } = object.metadata;
  const originName = findOriginName(sandbox);
  const [named, origin] = await Promise.all([
    client.find(sandboxTemplates, { namespace, name: templateName }, { signal }),
    originName === undefined ? undefined : client.find(sandboxTemplates, { namespace, name: originName }, { signal }),
  ]);
  return { named, origin };
}

/** The annotation is read only where the label confirms it: it decides how far the network of new Sandboxes reaches. */
function findOriginName(sandbox: Sandbox): string | undefined {
  const name = sandbox.metadata.annotations?.[annotations.templateRef];
  if (name === undefined || isWithoutTemplate(sandbox)) return undefined;
  return nameHash(name) === sandbox.metadata.labels?.[labels.templateRefHash] ? name : undefined;
}
