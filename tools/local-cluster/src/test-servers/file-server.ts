import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { isHealthy } from '../cluster/probe.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** The file server of the volumes of a namespace. */
export interface FileServerProcess extends Server {
  /** Folder with the volumes, which sandboxes would mount one by one. */
  readonly data: string;
}

/** Whose volumes it serves, and by which public keys it recognises the release. */
interface FileServerSettings {
  readonly namespace: string;
  readonly keys: readonly string[];
}

/** Starts a file server that dies with this process. Throws ComponentError. */
export async function startFileServer({ namespace, keys }: FileServerSettings): Promise<FileServerProcess> {
  const bin = await ensureBinaries(['sandlot-volumes']);
  const formatUrl = (port: number): string => `http://127.0.0.1:${port}`;
  let data = '';
  const server = await startServer({
    name: 'sandlot-volumes',
    url: formatUrl,
    prepare: async ({ port, folder }) => {
      data = join(folder, 'volumes');
      await mkdir(data, { recursive: true });
      const variables = [
        `VOLUMES_ADDRESS=127.0.0.1:${port}`,
        `VOLUMES_DATA=${data}`,
        `VOLUMES_NAMESPACE=${namespace}`,
        `VOLUMES_KEYS=${keys.join(',')}`,
      ];
      return ['/usr/bin/env', ...variables, bin('sandlot-volumes')];
    },
    isReady: (port) => isHealthy({ kind: 'http', url: `${formatUrl(port)}/healthz` }),
  });
  return Object.assign(server, { data });
}
