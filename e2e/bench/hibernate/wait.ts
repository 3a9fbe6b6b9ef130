import type { KubeClient, KubeObject, Resource } from '@sandlot/kube';

const PATIENCE_MS = 120_000;

/** Milliseconds that the work takes. */
export async function time(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Lets the node finish what it does for Pods that are gone, so that each measurement begins on an idle machine. */
export const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 3_000));

/** Asks ten times a second until there is an answer, and throws after two minutes. Not for what is measured. */
export async function waitFor<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + PATIENCE_MS;
  while (performance.now() < endMs) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: not within two minutes`);
}

/**
 * Waits by a watch for the first object of the namespace that fits; asking again and again would take the processor from what
 * is measured. Throws after two minutes.
 */
export async function watchFor<T extends KubeObject>(
  client: KubeClient,
  { what, resource, namespace, fits }: Wanted<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  for await (const { type, object } of client.watch(resource, { namespace, sendInitialEvents: true, signal }))
    if (type !== 'BOOKMARK' && type !== 'DELETED' && fits(object)) return object;
  throw new Error(`${what}: not within two minutes`);
}

export interface Wanted<T extends KubeObject> {
  readonly what: string;
  readonly resource: Resource<T>;
  readonly namespace: string;
  readonly fits: (object: T) => boolean;
}
