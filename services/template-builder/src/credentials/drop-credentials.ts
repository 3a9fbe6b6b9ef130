import {
  annotations,
  findStoredCredentialsUid,
  formatStoredCredentialsName,
  hasStoredCredentials,
  sandboxTemplateBuilds,
} from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { createChannelSource, done, isForbidden, isNotFound, requeueAfter, secrets } from '@sandlot/kube';
import type { Informer, KubeClient, Manager, ReconcileContext, ReconcileResult, Secret } from '@sandlot/kube';
import { hasEnded } from '../status/build-status.ts';

export interface DropCredentialsDeps {
  readonly client: Pick<KubeClient, 'delete' | 'find' | 'listAll'>;
  readonly manager: Pick<Manager, 'add'>;
  readonly builds: Informer<SandboxTemplateBuild>;
  /** Where the API stores credentials; undefined: this installation runs no API. */
  readonly namespace: string | undefined;
}

/** Key of the pass that looks for credentials whose build ended while no process led. */
const SWEEP = 'sweep';
const SWEEP_MS = 10 * 60_000;
const IN_BACKGROUND = { priority: 'background' } as const;

/** A build that may have ended, and the Secret with its credentials. */
interface Ended {
  readonly namespace: string;
  readonly name: string;
  readonly secretName: string;
}

/**
 * Deletes the credentials that the API stored for a build once the build has ended. Owner references do not reach into another
 * namespace, so garbage collection cannot do it.
 */
export function dropCredentials({ client, manager, builds, namespace }: DropCredentialsDeps): void {
  if (namespace === undefined) return;
  const source = createChannelSource(() => [SWEEP]);
  builds.onChange(({ old, next }) => {
    const build = next ?? old;
    if (build === undefined || !hasStoredCredentials(build) || (next !== undefined && !hasEnded(next))) return;
    const { namespace: of = '', name = '', annotations: given } = build.metadata;
    const secretName = formatStoredCredentialsName(build.metadata, given?.[annotations.requestDigest] ?? '');
    source.push(formatEnded({ namespace: of, name, secretName }));
  });
  const sweep = async ({ signal }: ReconcileContext): Promise<ReconcileResult> => {
    const { items } = await client.listAll(secrets, { namespace, signal, ...IN_BACKGROUND });
    for (const ended of items.flatMap(readEnded)) source.push(formatEnded(ended));
    return requeueAfter(SWEEP_MS, 'the next look for credentials of builds that are gone');
  };
  manager.add({
    name: 'stored-credentials',
    concurrency: 1,
    sources: [source],
    reconcile: (key, context) =>
      key === SWEEP ? sweep(context) : deleteStored({ client, namespace }, parseEnded(key), context),
  });
}

/** The cache may lag behind a build that began a moment ago, so the API server decides whether it has ended. */
async function deleteStored(
  { client, namespace: stored }: Pick<DropCredentialsDeps, 'client'> & { readonly namespace: string },
  { namespace, name, secretName }: Ended,
  { signal }: Pick<ReconcileContext, 'signal'>,
): Promise<ReconcileResult> {
  try {
    const build = await client.find(sandboxTemplateBuilds, { namespace, name }, { signal, ...IN_BACKGROUND });
    const uid = findStoredCredentialsUid(secretName);
    if (build !== undefined && build.metadata.uid === uid && !hasEnded(build)) return done;
  } catch (error) {
    // The release serves this namespace no longer, and its builds may go on. The next sweep asks again.
    if (isForbidden(error)) return done;
    throw error;
  }
  try {
    await client.delete(secrets, { namespace: stored, name: secretName }, { signal, ...IN_BACKGROUND });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return done;
}

/** The build for which the API stored a Secret; none for any other Secret. */
function readEnded({ metadata: { name: secretName = '', annotations: given } }: Secret): Ended[] {
  const [namespace = '', name = '', ...rest] = (given?.[annotations.storedFor] ?? '').split('/');
  const isOurs = findStoredCredentialsUid(secretName) !== undefined && name !== '' && rest.length === 0;
  return isOurs ? [{ namespace, name, secretName }] : [];
}

function formatEnded({ namespace, name, secretName }: Ended): string {
  return `${namespace}/${name}/${secretName}`;
}

function parseEnded(key: string): Ended {
  const [namespace = '', name = '', secretName = ''] = key.split('/');
  return { namespace, name, secretName };
}
