import { annotations, sandboxes } from '@sandlot/api-types';
import type { Sandbox } from '@sandlot/api-types';
import { isAlreadyExists, isNotFound } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { isTaken } from './adopt.ts';
import type { AdoptInput } from './adopt.ts';

/** The Sandbox with the trace it is made in. */
export function withTrace(sandbox: Sandbox, traceContext: string | undefined): Sandbox {
  if (traceContext === undefined) return sandbox;
  const notes = { ...sandbox.metadata.annotations, [annotations.traceContext]: traceContext };
  return { ...sandbox, metadata: { ...sandbox.metadata, annotations: notes } };
}

/**
 * Creates the Sandbox. The name is the claim's, so one that is there already is its own from an earlier try, or it is in
 * the way: then undefined.
 */
export async function createOrRead(
  { client }: { readonly client: KubeClient },
  input: Pick<AdoptInput, 'claim' | 'slot' | 'signal'>,
  wanted: Sandbox,
): Promise<Sandbox | undefined> {
  const { namespace, name = '' } = wanted.metadata;
  const options = { priority: 'claim', signal: input.signal } as const;
  try {
    return await client.create(sandboxes, wanted, options);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  try {
    const live = await client.get(sandboxes, { namespace, name }, options);
    const isLeaving = live.metadata.deletionTimestamp !== undefined;
    return isTaken(live, input) && !isLeaving ? live : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
