import type { AgentClient } from './agent-client.ts';
import { AgentAway, AgentRefusal } from './agent-error.ts';
import type { RemoteData, RestoreEnd, RestoreRequest, SnapshotId } from './messages.ts';

export interface RestoreHere {
  readonly id: SnapshotId;
  readonly request: RestoreRequest;
  /** Absent: the node has the data. */
  readonly remote: RemoteData | undefined;
  readonly signal: AbortSignal;
  /** Runs the download. */
  readonly measure: <T>(download: () => Promise<T>) => Promise<T>;
}

/**
 * Has the node fetch the data that it lacks, and then lets the Pod have it. Data of another SandboxSnapshot is copied: the node
 * keeps it once, for all copies that are restored there. Every request of the row may be repeated.
 */
export async function restoreHere(
  agent: AgentClient,
  { id, request, remote, signal, measure }: RestoreHere,
): Promise<RestoreEnd> {
  if (remote !== undefined) {
    await measure(() => agent.download(id, remote, signal));
    if (remote.uid !== id.uid) await agent.copy(id, remote.uid, signal).catch(asAwayUnlessTaken);
  }
  // A Pod that is gone by now must not be announced any more.
  signal.throwIfAborted();
  return agent.restore(id, request, signal);
}

/** What the node has just downloaded may be deleted there again: then it has to download once more. */
function asAwayUnlessTaken(error: unknown): never {
  if (error instanceof AgentRefusal && error.code !== 'Conflict' && error.code !== 'NotShared')
    throw new AgentAway(error.message, { cause: error });
  throw error;
}
