import { annotations, formatStoredEnvsName, hasStoredEnvs, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { createChannelSource, done, isForbidden, isNotFound, requeueAfter, secrets } from '@sandlot/kube';
import type { Informer, KubeClient, Manager, ReconcileContext, ReconcileResult, Secret } from '@sandlot/kube';

export interface StoredEnvsDeps {
  readonly client: Pick<KubeClient, 'delete' | 'find' | 'listAll'>;
  readonly manager: Pick<Manager, 'add'>;
  readonly claims: Informer<SandboxClaim>;
  /** Where the API stores the variables of its sandboxes; undefined: this installation runs no API. */
  readonly envsNamespace: string | undefined;
}

/** Key of the pass that looks for values whose claim ended while no process led. */
const SWEEP = 'sweep';
const SWEEP_MS = 10 * 60_000;
const CONCURRENCY = 4;
const IN_BACKGROUND = { priority: 'background' } as const;

/** A claim that may have ended. */
interface Ended {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Deletes the variables that the API stored for a claim once the claim is gone. Owner references do not reach into another
 * namespace, so garbage collection cannot do it.
 */
export function dropStoredEnvs({ client, manager, claims, envsNamespace }: StoredEnvsDeps): void {
  if (envsNamespace === undefined) return;
  const source = createChannelSource(() => [SWEEP]);
  claims.onChange(({ old, next }) => {
    if (old === undefined || !hasStoredEnvs(old) || old.metadata.uid === next?.metadata.uid) return;
    const { namespace = '', name = '', uid = '' } = old.metadata;
    source.push(formatEnded({ namespace, name, uid }));
  });
  const sweep = async ({ signal }: ReconcileContext): Promise<ReconcileResult> => {
    const { items } = await client.listAll(secrets, { namespace: envsNamespace, signal, ...IN_BACKGROUND });
    const gone = items
      .flatMap(readEnded)
      .filter(({ namespace, name, uid }) => claims.store.get(`${namespace}/${name}`)?.metadata.uid !== uid);
    for (const ended of gone) source.push(formatEnded(ended));
    return requeueAfter(SWEEP_MS, 'the next look for variables of deleted claims');
  };
  manager.add({
    name: 'stored-envs',
    // One process has the sweep and all that it finds.
    shardBy: () => SWEEP,
    concurrency: CONCURRENCY,
    sources: [source],
    reconcile: (key, context) =>
      key === SWEEP ? sweep(context) : deleteStored({ client, envsNamespace }, parseEnded(key), context),
  });
}

/** The store may lag behind a claim that the API created a moment ago, so the API server decides whether it is gone. */
async function deleteStored(
  { client, envsNamespace }: Pick<StoredEnvsDeps, 'client'> & { readonly envsNamespace: string },
  { namespace, name, uid }: Ended,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  try {
    const claim = await client.find(sandboxClaims, { namespace, name }, { signal, ...IN_BACKGROUND });
    if (claim?.metadata.uid === uid) return done;
  } catch (error) {
    // The release serves this namespace no longer, and its claims may live on. The next sweep asks again.
    if (isForbidden(error)) return done;
    throw error;
  }
  const key = { namespace: envsNamespace, name: formatStoredEnvsName({ metadata: { uid } }) };
  try {
    await client.delete(secrets, key, { signal, ...IN_BACKGROUND });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return done;
}

/** The claim for which the API stored a Secret; none for a Secret that the API did not write. */
function readEnded({ metadata }: Secret): Ended[] {
  const [namespace = '', name = '', ...rest] = (metadata.annotations?.[annotations.storedFor] ?? '').split('/');
  const uid = metadata.name?.slice(formatStoredEnvsName({ metadata: {} }).length) ?? '';
  const isOurs = name !== '' && rest.length === 0 && formatStoredEnvsName({ metadata: { uid } }) === metadata.name;
  return isOurs ? [{ namespace, name, uid }] : [];
}

function formatEnded({ namespace, name, uid }: Ended): string {
  return `${namespace}/${name}/${uid}`;
}

function parseEnded(key: string): Ended {
  const [namespace = '', name = '', uid = ''] = key.split('/');
  return { namespace, name, uid };
}
