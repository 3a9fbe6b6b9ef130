import { ensureBinaries } from '../binaries/ensure.ts';
import type { ClusterContext } from '../cluster/control-plane.ts';
import { machinePaths } from '../cluster/paths.ts';
import { LocalClusterError } from '../errors.ts';
import { withLock } from '../process/lock.ts';
import type { Progress } from '../progress.ts';
import { withStep } from '../progress.ts';
import { killNode } from './kill.ts';
import { getAddedPlace } from './place.ts';
import { readAddedNodes } from './record.ts';
import { removeAddedNode } from './remove.ts';
import { startAddedNode } from './start.ts';

/** A node that was added to the cluster. Its disposal removes it. It outlives this process. */
export interface AddedNode extends AsyncDisposable {
  /** Name in the cluster. */
  readonly name: string;
  /** InternalIP of the Node. */
  readonly address: string;
  /**
   * Kills all of its processes, as a loss of power does. Its Node and its Pods stay, and its disk. `ClusterHandle.addNode` starts it
   * again.
   */
  kill(): Promise<void>;
  /** Kills it, and removes everything of it, the Node and its Pods too. Does nothing if that has happened. */
  remove(): Promise<void>;
}

const lockTimeoutMs = 10 * 60_000;

/** Adds a node to a real cluster, or repairs it, and waits until it is Ready. Throws ComponentError or LocalClusterError. */
export async function addNode(context: ClusterContext, name: string): Promise<AddedNode> {
  if (context.choices.mode !== 'node') {
    throw new LocalClusterError(
      'OTHER_MODE',
      `the node ${name} cannot be added: the nodes of this cluster are simulated`,
    );
  }
  const { address } = await locked(() => startAddedNode(context, name));
  const remove = () => locked(async () => removeAddedNode(await withKubectl(context), name));
  return {
    name,
    address,
    kill: () => locked(() => killIfThere(context, name)),
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

/** Repairs the added nodes with these names, those that exist, and removes all others. The caller has the lock. */
export async function keepAddedNodes(
  context: ClusterContext,
  names: readonly string[],
  progress: Progress,
): Promise<void> {
  for (const { name } of await readAddedNodes(context.paths)) {
    if (names.includes(name)) await withStep(progress, `Node ${name}`, () => startAddedNode(context, name));
    else await withStep(progress, `Removing the node ${name}`, () => removeAddedNode(context, name));
  }
}

async function killIfThere(context: ClusterContext, name: string): Promise<void> {
  const record = (await readAddedNodes(context.paths)).find((one) => one.name === name);
  if (record !== undefined) await killNode(context.paths, getAddedPlace(context, record));
}

async function locked<T>(work: () => Promise<T>): Promise<T> {
  return withLock(machinePaths.lock, { timeoutMs: lockTimeoutMs }, work);
}

async function withKubectl(context: ClusterContext): Promise<ClusterContext> {
  return { ...context, bin: await ensureBinaries(['kube']) };
}
