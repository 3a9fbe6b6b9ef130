import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { isHealthy } from '../cluster/probe.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

const address = (port: number): string => `127.0.0.1:${port}`;

/** Starts a container registry without TLS and passwords that dies with this process. Throws ComponentError. */
export async function startRegistry(): Promise<Server> {
  const bin = await ensureBinaries(['registry']);
  const formatUrl = (port: number): string => `http://${address(port)}`;
  return startServer({
    name: 'registry',
    url: formatUrl,
    prepare: async ({ port, folder }) => [bin('registry'), address(port), join(folder, 'data')],
    isReady: (port) => isHealthy({ kind: 'http', url: `${formatUrl(port)}/v2/` }),
  });
}

/** The image plane of template builds. Its URL is that of its probes and metrics. */
export interface ImagePlaneServer extends Server {
  readonly socketPath: string;
}

/** Lets tenants name registries on loopback, also without TLS. */
const loopback = [
  '-tenant-registries=127.0.0.1:*',
  '-plain-http=127.0.0.1:*',
  '-private-addresses=127.0.0.0/8',
] as const;

/** Starts the image plane for images below `registry`, HOST:PORT/PREFIX, with further flags. It dies with this process. Throws ComponentError. */
export async function startImagePlane(registry: string, flags: readonly string[] = []): Promise<ImagePlaneServer> {
  const bin = await ensureBinaries(['sandlot-image']);
  const formatUrl = (port: number): string => `http://${address(port)}`;
  let socketPath = '';
  const server = await startServer({
    name: 'sandlot-image',
    url: formatUrl,
    prepare: async ({ port, folder }) => {
      socketPath = join(folder, 'image.sock');
      const places = [`-socket=${socketPath}`, `-admin=${address(port)}`, `-registry=${registry}`];
      return [bin('sandlot-image'), ...places, ...loopback, ...flags];
    },
    isReady: (port) => isHealthy({ kind: 'http', url: `${formatUrl(port)}/readyz` }),
  });
  return Object.assign(server, { socketPath });
}
