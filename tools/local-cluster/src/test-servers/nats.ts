import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { findFreePort } from '../process/ports.ts';
import { readFirstReply } from './line-protocol.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** How clients authenticate, and what the server offers. */
export interface NatsOptions {
  /** Enables JetStream, with its store in the server's folder. Default true. */
  jetstream?: boolean | undefined;
  user?: string | undefined;
  password?: string | undefined;
  /** The server's own cluster port, and those of its peers. */
  cluster?: { readonly port: number; readonly routes: readonly number[] } | undefined;
}

/** Starts a NATS cluster on this machine. A stream can have at most `size` replicas. */
export async function startNatsCluster(size: number): Promise<readonly Server[]> {
  const ports: number[] = [];
  for (let index = 0; index < size; index += 1) ports.push(await findFreePort());
  return Promise.all(
    ports.map((port) => startNats({ cluster: { port, routes: ports.filter((other) => other !== port) } })),
  );
}

/** Starts a NATS server that dies with this process. Throws ComponentError. */
export async function startNats(options: NatsOptions = {}): Promise<Server> {
  const bin = await ensureBinaries(['nats-server']);
  return startServer({
    name: 'nats-server',
    url: (port) => `nats://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      const file = join(folder, 'nats.json');
      await writeFile(file, JSON.stringify(natsConfig(options, { port, storeDir: join(folder, 'jetstream') })));
      return [bin('nats-server'), '--config', file];
    },
    isReady: async (port) => (await readFirstReply(port, '')).startsWith('INFO '),
  });
}

/** Returns the server's configuration. The file format is a superset of JSON. */
export function natsConfig(options: NatsOptions, place: { port: number; storeDir: string }): object {
  const { user, password, cluster } = options;
  return {
    host: '127.0.0.1',
    port: place.port,
    ...(options.jetstream === false ? {} : { jetstream: { store_dir: place.storeDir } }),
    ...(cluster === undefined ? {} : { server_name: `nats-${cluster.port}`, cluster: clusterConfig(cluster) }),
    ...(user === undefined || password === undefined ? {} : { authorization: { user, password } }),
  };
}

function clusterConfig({ port, routes }: NonNullable<NatsOptions['cluster']>): object {
  return { name: 'test', host: '127.0.0.1', port, routes: routes.map((other) => `nats://127.0.0.1:${other}`) };
}
