/**
 * Attacks a gateway until it is killed: `node attacker.ts KIND PORT HEADERS`, the headers as JSON. Prints a line when the attack is
 * under way. It is a process of its own, so that it does not slow down the client that a test measures.
 */
import { connect } from 'node:net';
import { request } from 'node:http';
import type { Socket } from 'node:net';

const [kind = '', portText = '', headersText = '{}'] = process.argv.slice(2);
const port = Number(portText);
const headers = JSON.parse(headersText) as Record<string, string>;

/** How many requests, or connections with slow heads, the attacker has open at a time. */
const REQUESTS = 32;
const HEADS = 1_000;
const WAITING = 455;
/** So many requests were answered, or connections opened, when the attack is under way: its start is no part of a p99. */
const UNDER_WAY: Readonly<Record<string, number>> = { send: 100, wait: 300, drip: HEADS };
const PAUSE_MS = 5;
/** What `Retry-After` asks for. */
const RETRY_MS = 1_000;

let count = 0;
function countOne(): void {
  count += 1;
  if (count === UNDER_WAY[kind]) process.stdout.write('under way\n');
}

/** Sends one request after another; `#` in a header is another number each time. */
function sendForEver(): void {
  const numbered = Object.entries(headers).map(([name, value]) => [name, value.replaceAll('#', String(count))]);
  const sent = request({
    host: '127.0.0.1',
    port,
    agent: false,
    headers: Object.fromEntries(numbered) as typeof headers,
  });
  sent.on('error', () => undefined).on('response', (answer) => answer.resume());
  sent.on('close', () => {
    countOne();
    setTimeout(sendForEver, PAUSE_MS);
  });
  sent.end();
}

/** Opens requests that wait, and leaves them open. Those that are refused come again. */
function waitForEver(): void {
  const open = (): void => {
    const headersOf = { ...headers, 'Transfer-Encoding': 'chunked' };
    const sent = request({ host: '127.0.0.1', port, agent: false, method: 'POST', headers: headersOf });
    sent.on('error', () => undefined).on('response', (answer) => answer.resume());
    sent.on('close', () => {
      countOne();
      setTimeout(open, RETRY_MS / 2 + (count % RETRY_MS));
    });
    sent.write('x'.repeat(1_000));
  };
  for (let n = 0; n < WAITING; n += 1) open();
}

/** Opens connections with heads that grow and never end; a closed one is replaced a second later: this is no flood of connections. */
function dripForEver(): void {
  const open = (): void => {
    const socket: Socket = connect(port, '127.0.0.1');
    const drip = setInterval(() => socket.write(`X-Slow: ${'x'.repeat(500)}\r\n`), 1_000);
    socket.on('error', () => undefined).resume();
    socket.on('connect', () => {
      socket.write(`GET / HTTP/1.1\r\nX-Slow: ${'x'.repeat(10_000)}\r\n`);
      countOne();
    });
    socket.on('close', () => {
      clearInterval(drip);
      setTimeout(open, RETRY_MS / 2 + (count % RETRY_MS));
    });
  };
  for (let n = 0; n < HEADS; n += 1) setTimeout(open, n / 5);
}

if (kind === 'drip') dripForEver();
else if (kind === 'wait') waitForEver();
else for (let n = 0; n < REQUESTS; n += 1) sendForEver();
