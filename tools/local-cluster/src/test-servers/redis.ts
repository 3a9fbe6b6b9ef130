import { ensurePackages } from '../packages.ts';
import { readFirstReply } from './line-protocol.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** How clients authenticate. */
export interface RedisOptions {
  password?: string | undefined;
}

/** Starts a Redis server that dies with this process. Installs Debian's redis-server if it is missing. */
export async function startRedis(options: RedisOptions = {}): Promise<Server> {
  await ensurePackages(['redis-server']);
  const auth = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`;
  return startServer({
    name: 'redis-server',
    url: (port) => `redis://${auth}127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => redisCommand({ port, folder, password: options.password }),
    // Redis answers -LOADING while it loads its data, and -NOAUTH if it has a password.
    isReady: async (port) => /^(\+PONG|-NOAUTH)/.test(await readFirstReply(port, 'PING\r\n')),
  });
}

/** Command line of a server that keeps every write across a SIGKILL. BullMQ requires `noeviction`. */
export function redisCommand(place: { port: number; folder: string; password?: string | undefined }): string[] {
  return [
    'redis-server',
    ...['--port', String(place.port), '--bind', '127.0.0.1', '--dir', place.folder],
    ...['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction', '--daemonize', 'no'],
    ...(place.password === undefined ? [] : ['--requirepass', place.password]),
  ];
}
