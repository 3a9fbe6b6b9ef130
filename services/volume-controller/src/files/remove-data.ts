import { VOLUMES_NAME, VOLUMES_PORT } from '@sandlot/api-types';
import type { Clock, Logger } from '@sandlot/std';
import { signVolumeHop } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';

/** Has the file server of a namespace remove the data of a volume. False: it could not, or not in time. */
export type RemoveData = (
  volume: { readonly namespace: string; readonly id: string },
  signal: AbortSignal,
) => Promise<boolean>;

export interface RemoveOptions {
  /** URL of the file server of a namespace, with `{namespace}` in place of its name; undefined: its Service. */
  readonly url: string | undefined;
  readonly tokenKeys: TokenKeys;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

/** The file server goes on after that, and answers the next request at once. */
const PATIENCE_MS = 30_000;
const SERVICE_URL = `http://${VOLUMES_NAME}.{namespace}.svc:${VOLUMES_PORT}`;

export function createRemoveData({ url = SERVICE_URL, tokenKeys, clock, log }: RemoveOptions): RemoveData {
  return async ({ namespace, id }, signal) => {
    const hop = { namespace, method: 'DELETE', path: `/volumes/${id}` };
    const authorization = signVolumeHop(tokenKeys, hop, clock.now());
    try {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
      const target = `${url.replace('{namespace}', namespace)}${hop.path}`;
      const response = await fetch(target, { method: hop.method, headers: { authorization }, signal: patience });
      if (response.ok) return true;
      const text = await response.text();
      log.warn({ namespace, volume: id, status: response.status, text }, 'the data of a deleted volume is still there');
    } catch (err) {
      log.debug({ err, namespace, volume: id }, 'the file server does not answer');
    }
    return false;
  };
}
