import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { once } from 'node:events';

/** Where requests go, and the Host they name. */
export interface Aim {
  readonly host: string;
  readonly port: number;
  readonly name: string;
}

export interface Load {
  readonly perSecond: number;
  /** Milliseconds, sorted. */
  readonly latencies: readonly number[];
}

const requestTo = ({ name }: Aim): Buffer =>
  Buffer.from(
    `GET /a/b?c=d HTTP/1.1\r\nHost: ${name}\r\nUser-Agent: bench\r\nAccept: */*\r\nX-Access-Token: abc\r\n\r\n`,
  );

/** Size of every response body. */
const BODY_BYTES = 200;

/** Sends requests one after another on each connection for `ms` milliseconds. */
export async function load(aim: Aim, { connections, ms }: { connections: number; ms: number }): Promise<Load> {
  const request = requestTo(aim);
  const latencies: number[] = [];
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect({ host: aim.host, port: aim.port, noDelay: true });
    let text = '';
    let sentMs = 0;
    const send = (): void => {
      sentMs = performance.now();
      socket.write(request);
    };
    socket.once('connect', send);
    socket.on('data', (data) => {
      text += data.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0 || text.length < end + 4 + BODY_BYTES) return;
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text);
      latencies.push(performance.now() - sentMs);
      text = '';
      send();
    });
    return socket;
  });
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (const socket of sockets) socket.destroy();
  return { perSecond: (latencies.length / ms) * 1_000, latencies: latencies.sort((a, b) => a - b) };
}

/** Opens `count` WebSockets and exchanges a message on each. */
export async function openWebSockets(aim: Aim, count: number): Promise<readonly Socket[]> {
  const head = `GET / HTTP/1.1\r\nHost: ${aim.name}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: aim.host, port: aim.port, noDelay: true });
    socket.write(head);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    if (!answer.toString().startsWith('HTTP/1.1 101')) throw new Error(answer.toString());
    socket.write('a frame');
    await once(socket, 'data');
    sockets.push(socket);
  }
  return sockets;
}

/** Opens `count` connections, sends `text` on each and waits a moment. */
export async function openSilent(
  aim: Aim,
  { count, text }: { count: number; text: string },
): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: aim.host, port: aim.port, noDelay: true });
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    socket.write(text);
    sockets.push(socket);
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  return sockets;
}
