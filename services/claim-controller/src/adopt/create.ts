import { annotations, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isAlreadyExists, getKey } from '@sandlot/kube';
import type { KubeClient, OwnWrites } from '@sandlot/kube';
import { isCommitted } from './owner.ts';
import type { CommitTarget } from './owner.ts';

/** The Sandbox with an annotation for the trace that creates it. */
export function withTrace(sandbox: Sandbox, traceContext: string | undefined): Sandbox {
  if (traceContext === undefined) return sandbox;
  const notes = { ...sandbox.metadata.annotations, [annotations.traceContext]: traceContext };
  return { ...sandbox, metadata: { ...sandbox.metadata, annotations: notes } };
}

interface CreateDeps {
  readonly client: KubeClient;
  readonly sandboxes: OwnWrites<Sandbox>;
}

/**
 * Creates the Sandbox under a name derived from the claim. If a Sandbox of that name exists, the claim committed it in an
 * earlier try and it is returned, or it is foreign and blocks the name: then undefined.
 */
export async function createOrRead(
  { client, sandboxes: own }: CreateDeps,
  input: CommitTarget & { readonly signal: AbortSignal },
  wanted: Sandbox,
): Promise<Sandbox | undefined> {
  const { namespace, name = '' } = wanted.metadata;
  const options = { priority: 'claim', signal: input.signal } as const;
  try {
    return await own.write(getKey(wanted), () => client.create(sandboxes, wanted, options));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const live = await own.read(getKey(wanted), () => client.find(sandboxes, { namespace, name }, options));
  const isUsable = live !== undefined && live.metadata.deletionTimestamp === undefined && isCommitted(live, input);
  return isUsable ? live : undefined;
}
