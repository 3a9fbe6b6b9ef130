import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinaries } from '../binaries/ensure.ts';
import { firstReply } from './line-protocol.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** How clients connect and what the server offers. */
export interface NatsOptions {
  /** Default true: JetStream with its store in the server's folder. */
  jetstream?: boolean | undefined;
  user?: string | undefined;
  password?: string | undefined;
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
    isReady: async (port) => (await firstReply(port, '')).startsWith('INFO '),
  });
}

/** The server's configuration file: its format is a superset of JSON. */
export function natsConfig(options: NatsOptions, place: { port: number; storeDir: string }): object {
  const { user, password } = options;
  return {
    host: '127.0.0.1',
    port: place.port,
    ...(options.jetstream === false ? {} : { jetstream: { store_dir: place.storeDir } }),
    ...(user === undefined || password === undefined ? {} : { authorization: { user, password } }),
  };
}
