/** A minimal server in a sandbox, so that its own cost stays small: `node upstream.ts ADDRESS PORT`. */
import { createServer } from 'node:net';
import type { Socket } from 'node:net';

const [address = '', port = ''] = process.argv.slice(2);
const BODY = 'x'.repeat(200);
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
);
const UPGRADED = Buffer.from('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');

function serve(socket: Socket): void {
  let text = '';
  let isUpgraded = false;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (data) => {
    if (isUpgraded) {
      socket.write(data);
      return;
    }
    text += data.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      isUpgraded = /\r\nupgrade:/i.test(text.slice(0, end));
      text = text.slice(end + 4);
      socket.write(isUpgraded ? UPGRADED : ANSWER);
    }
  });
}

createServer(serve).listen({ port: Number(port), host: address, backlog: 4_096 }, () =>
  process.stdout.write('listening\n'),
);
