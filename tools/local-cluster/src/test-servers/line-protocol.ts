import { connect } from 'node:net';

const timeoutMs = 2_000;

/** Connects, sends `request` unless it is empty, and returns the first bytes of the reply. Returns '' on any failure. */
export async function readFirstReply(port: number, request: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: timeoutMs });
    const finish = (reply: string) => {
      socket.destroy();
      resolve(reply);
    };
    socket.on('connect', () => request !== '' && socket.write(request));
    socket.on('data', (chunk) => finish(chunk.toString()));
    socket.on('close', () => finish(''));
    socket.on('timeout', () => finish(''));
    socket.on('error', () => finish(''));
  });
}
