import { lookup } from 'node:dns/promises';
import type { z } from 'zod';

/** Where the rules processes of the egress proxy are: a name with the addresses of all. */
export interface EgressReplicas {
  readonly host: string;
  readonly port: number;
  /** Rejects where the name has none. Default: by DNS. */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
}

/** A question about a claim to every replica. */
export interface Question<T> {
  readonly report: 'refusals' | 'applied';
  readonly namespace: string;
  readonly uid: string;
  readonly answer: z.ZodType<T>;
}

/** A replica that hangs must not hold the answer of the others. */
const PATIENCE_MS = 2_000;

/**
 * Asks every replica that the name has now, and resolves with one result for each: undefined from one that does not know the
 * claim, and rejected where it does not answer in time. Never rejects.
 */
export async function askReplicas<T>(
  { host, port, resolve = resolveByDns }: EgressReplicas,
  { report, namespace, uid, answer }: Question<T>,
  signal?: AbortSignal,
): Promise<readonly PromiseSettledResult<T | undefined>[]> {
  const patience = AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), signal ?? []].flat());
  const ask = async (address: string): Promise<T | undefined> => {
    const at = address.includes(':') ? `[${address}]` : address;
    const response = await fetch(`http://${at}:${port}/${report}/${namespace}/${uid}`, { signal: patience });
    return response.status === 404 ? undefined : answer.parse(await response.json());
  };
  return Promise.allSettled((await awaitAddresses(resolve(host), patience)).map(ask));
}

async function resolveByDns(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** None if the look-up fails or is not complete in time: it cannot be ended. */
async function awaitAddresses(
  addresses: Promise<readonly string[]>,
  patience: AbortSignal,
): Promise<readonly string[]> {
  const ended = Promise.withResolvers<readonly string[]>();
  const end = (): void => ended.resolve([]);
  patience.addEventListener('abort', end, { once: true });
  if (patience.aborted) end();
  const first = await Promise.race([addresses.catch(() => []), ended.promise]);
  patience.removeEventListener('abort', end);
  return first;
}
