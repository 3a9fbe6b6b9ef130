import { formatStoredHeadersName, labels, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { isForbidden, isNotFound, secrets } from '@sandlot/kube';
import type { Informer, KubeClient, ObjectKey, Secret } from '@sandlot/kube';
import type { Clock, Logger } from '@sandlot/std';
import type { Sweep } from '../wiring/sweeps.ts';
import { dropHeaderValues, findHolder, findStoredMs, listStoredKeys } from './stored-headers.ts';

export interface SweepDeps {
  readonly client: Pick<KubeClient, 'delete' | 'find' | 'listAll' | 'mergePatch'>;
  /** Claims by `namespace/name`, as far as this replica knows them. */
  readonly claims: { readonly store: { get(key: string): SandboxClaim | undefined } };
  readonly vaultNamespace: string;
  readonly clock: Pick<Clock, 'now'>;
}

export interface DropDeps extends Pick<SweepDeps, 'client' | 'vaultNamespace'> {
  readonly claims: Pick<Informer<SandboxClaim>, 'onChange'>;
  readonly log: Logger;
}

/** A claim that may be gone. */
interface Holder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const EVERY_MS = 10 * 60_000;
/** Longer than any request takes, so that values that no claim has by then belong to none that still runs. */
const LEFT_BEHIND_MS = 10 * 60_000;
const IN_BACKGROUND = { priority: 'background' } as const;

/**
 * Deletes the header values of claims that are gone. Owner references do not reach into another namespace, so garbage
 * collection cannot do it. Any number of replicas may.
 */
export function dropHeadersOfGone(deps: DropDeps): void {
  deps.claims.onChange(({ old, next }) => {
    if (old === undefined || old.metadata.uid === next?.metadata.uid || listStoredKeys(old).length === 0) return;
    const { namespace = '', name = '', uid = '' } = old.metadata;
    deleteIfGone(deps, { namespace, name, uid }).catch((err: unknown) =>
      deps.log.debug({ err, namespace, sandbox: name }, 'could not delete the headers of a claim; the sweep will'),
    );
  });
}

/** Looks for values that no claim has: those of claims that ended while no replica ran, and those of changes that failed. */
export function buildHeaderSweep(deps: SweepDeps): Sweep {
  return { name: 'headers without a claim', everyMs: EVERY_MS, run: () => sweepHeaders(deps) };
}

async function sweepHeaders(deps: SweepDeps): Promise<void> {
  const { client, claims, vaultNamespace: namespace } = deps;
  const { items } = await client.listAll(secrets, { namespace, labelSelector: labels.sandboxId, ...IN_BACKGROUND });
  for (const secret of items) {
    const holder = findHolder(secret);
    if (holder === undefined) continue;
    const known = claims.store.get(`${holder.namespace}/${holder.name}`);
    if (known?.metadata.uid !== holder.uid) await deleteIfGone(deps, holder);
    else if (listLeftBehind(deps, secret, known).length > 0) await dropLeftBehind(deps, secret);
  }
}

/** The store may lag behind a claim that was created a moment ago, so the API server decides whether it is gone. */
async function deleteIfGone(
  { client, vaultNamespace: namespace }: Pick<SweepDeps, 'client' | 'vaultNamespace'>,
  holder: Holder,
): Promise<void> {
  const claim = await readClaim(client, holder);
  if (claim === 'unknown' || claim?.metadata.uid === holder.uid) return;
  try {
    await client.delete(secrets, { namespace, name: formatStoredHeadersName(holder) }, IN_BACKGROUND);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function dropLeftBehind(deps: SweepDeps, secret: Secret): Promise<void> {
  const { client, vaultNamespace } = deps;
  const holder = findHolder(secret);
  const claim = holder === undefined ? undefined : await readClaim(client, holder);
  if (claim === undefined || claim === 'unknown' || claim.metadata.uid !== holder?.uid) return;
  await dropHeaderValues({ client, vaultNamespace }, claim, listLeftBehind(deps, secret, claim));
}

/** Keys that no rule of the claim has, and whose request is over. */
function listLeftBehind(
  { clock }: Pick<SweepDeps, 'clock'>,
  { data = {} }: Secret,
  claim: SandboxClaim,
): readonly string[] {
  const used = new Set(listStoredKeys(claim));
  const isOld = (key: string): boolean => (findStoredMs(key) ?? clock.now()) < clock.now() - LEFT_BEHIND_MS;
  return Object.keys(data).filter((key) => !used.has(key) && isOld(key));
}

/** `unknown`: the release serves this namespace no longer, and its claims may live on. */
async function readClaim(
  client: Pick<KubeClient, 'find'>,
  { namespace, name }: ObjectKey,
): Promise<SandboxClaim | 'unknown' | undefined> {
  try {
    return await client.find(sandboxClaims, { namespace, name }, IN_BACKGROUND);
  } catch (error) {
    if (isForbidden(error)) return 'unknown';
    throw error;
  }
}
