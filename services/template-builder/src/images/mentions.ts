import {
  sandboxClaims,
  sandboxSnapshots,
  sandboxTemplateBuilds,
  sandboxTemplates,
  sandboxWarmPools,
  sandboxes,
} from '@sandlot/api-types';
import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';
import type { ServedNamespaces } from '@sandlot/service';

/** What objects of the cluster say of images. */
export interface Mentions {
  /** UIDs anywhere in the objects: their own, and those of builds in labels and in tags of images. */
  readonly uids: ReadonlySet<string>;
  /** Digests of images anywhere in the objects. */
  readonly digests: ReadonlySet<string>;
  /** Namespaces that have such an object. */
  readonly namespaces: ReadonlySet<string>;
}

/** Everything from which a Pod of a sandbox may come, now or after a resume. */
const KINDS: readonly Resource<KubeObject>[] = [
  sandboxTemplateBuilds,
  sandboxTemplates,
  sandboxWarmPools,
  sandboxSnapshots,
  sandboxClaims,
  sandboxes,
];
const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const DIGEST = /sha256:[0-9a-f]{64}/g;

/** Finds what objects mention. It looks at their whole text, so that a field that is added later counts as well. */
function findMentions(objects: Iterable<KubeObject>): Mentions {
  const [uids, digests, namespaces] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const object of objects) {
    const text = JSON.stringify(object);
    for (const [uid] of text.matchAll(UID)) uids.add(uid);
    for (const [digest] of text.matchAll(DIGEST)) digests.add(digest);
    if (object.metadata.namespace !== undefined) namespaces.add(object.metadata.namespace);
  }
  return { uids, digests, namespaces };
}

/**
 * Reads what all objects of the served namespaces mention, as the API server has them at this moment: a cache may lag. Rejects if one kind
 * cannot be read, because then nothing may be deleted.
 */
export async function readMentions(
  client: Pick<KubeClient, 'listAll'>,
  served: ServedNamespaces,
  signal: AbortSignal,
): Promise<Mentions> {
  const all: Mentions[] = [];
  for (const resource of KINDS) {
    for (const namespace of served ?? [undefined]) {
      const { items } = await client.listAll(resource, { namespace, signal, priority: 'background' });
      all.push(findMentions(items));
    }
  }
  return {
    uids: new Set(all.flatMap(({ uids }) => [...uids])),
    digests: new Set(all.flatMap(({ digests }) => [...digests])),
    namespaces: new Set(all.flatMap(({ namespaces }) => [...namespaces])),
  };
}
