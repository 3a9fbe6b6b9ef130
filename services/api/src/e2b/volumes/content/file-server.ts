import { VOLUMES_NAME, VOLUMES_PORT } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { signVolumeHop } from '@sandlot/tenancy';
import type { TokenKeys, VolumeTokenSubject } from '@sandlot/tenancy';
import { noFileServer, noVolume } from '../../../errors/volume-errors.ts';

export interface FileServerOptions {
  /** URL of the file server of a namespace, with `{namespace}` in place of its name. */
  readonly url: string;
  readonly tokenKeys: TokenKeys;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
}

/** Clients of JavaScript do not repeat a request, and the first volume of a team waits for its disk and its Pod. */
const HOLD_MS = 20_000;
const RETRY_MS = 250;
const PATIENCE_MS = 5_000;

/** Where file servers are unless a setting says otherwise. */
export const FILE_SERVER_URL = `http://${VOLUMES_NAME}.{namespace}.svc:${VOLUMES_PORT}`;

/** The file servers of namespaces, which know the API by its signature. */
export class FileServer {
  readonly #options: FileServerOptions;

  constructor(options: FileServerOptions) {
    this.#options = options;
  }

  /** URL and Authorization header of a request. */
  sign(hop: { readonly namespace: string; readonly method: string; readonly path: string }): {
    readonly url: URL;
    readonly authorization: string;
  } {
    const { url, tokenKeys, clock } = this.#options;
    return {
      url: new URL(`${url.replace('{namespace}', hop.namespace)}${hop.path}`),
      authorization: signVolumeHop(tokenKeys, hop, clock.now()),
    };
  }

  /**
   * Waits until the file server has the directory of the volume, which a sandbox or a request can use from then on. Throws an ApiError: 503
   * after 20 s, 404 for a volume that was deleted meanwhile.
   */
  async prepare({ namespace, id }: Pick<VolumeTokenSubject, 'namespace' | 'id'>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonic() + HOLD_MS;
    while (!(await this.#make({ namespace, id }, signal))) {
      if (signal.aborted || clock.monotonic() >= endMs) throw noFileServer();
      await clock.sleep(RETRY_MS, signal);
    }
  }

  /** False: it is not there yet. Throws an ApiError 404 for a volume that was deleted meanwhile. */
  async #make({ namespace, id }: Pick<VolumeTokenSubject, 'namespace' | 'id'>, signal: AbortSignal): Promise<boolean> {
    const { url, authorization } = this.sign({ namespace, method: 'PUT', path: `/volumes/${id}` });
    const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
    const answer = await fetch(url, { method: 'PUT', headers: { authorization }, signal: patience }).catch(
      () => undefined,
    );
    if (answer?.status === 404) throw noVolume(id);
    return answer?.ok === true;
  }
}
