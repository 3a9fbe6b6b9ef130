import { createServer } from 'node:net';
import { LocalClusterError } from '../errors.ts';

// Below Linux's ephemeral range: no outgoing connection takes a chosen port before its server binds it, or while a killed
// server restarts.
const lowest = 18_000;
const highest = 31_999;
const attempts = 200;

/** Returns a free loopback port. Another process may still take it, so callers retry on "address already in use". */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) return port;
  }
  throw new LocalClusterError('TIMEOUT', `no free port found between ${lowest} and ${highest}`);
}

/** Whether a server could listen on the port, on every address. */
export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
