// Sends malformed or abusive requests that HTTP clients cannot send, as raw bytes, and reads the answers of a server.
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { systemClock } from '@sandlot/std';

/** The server under test. */
export interface Target {
  readonly port: number;
  readonly host: string;
  /** Header lines that authorise a request, such as a key or a sandbox id. */
  readonly headers: readonly string[];
  /** A path that accepts a JSON body. */
  readonly post: string;
  /** A path with this raw text in the place of an id. */
  readonly item: (id: string) => string;
}

/** A request in pieces, each sent as soon as the socket accepts it. */
export interface HostileRequest {
  readonly name: string;
  readonly pieces: (target: Target) => Iterable<Buffer | string>;
}

export interface HostileAnswer {
  /** Status of the first answer. Undefined: the server closed the connection without one. */
  readonly status: number | undefined;
  readonly text: string;
}

const CRLF = '\r\n';
const MEBIBYTE = 1_048_576;
const NESTED = 200_000;

function head(first: string, headers: readonly string[]): string {
  return [first, ...headers, '', ''].join(CRLF);
}

/** A GET of `path` with additional header lines. */
function get(path: string, ...lines: readonly string[]): HostileRequest['pieces'] {
  return ({ host, headers }) => [head(`GET ${path} HTTP/1.1`, [`Host: ${host}`, ...headers, ...lines])];
}

function getItem(id: string): HostileRequest['pieces'] {
  return (target) => get(target.item(id))(target);
}

/** A POST of a body with additional header lines. */
function post(body: Buffer | string, ...lines: readonly string[]): HostileRequest['pieces'] {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const type = lines.some((line) => line.startsWith('Content-Type')) ? [] : ['Content-Type: application/json'];
  return (target) => [postHead(target, length, ...type, ...lines), body];
}

function postHead({ host, headers, post: path }: Target, ...lines: readonly string[]): string {
  return head(`POST ${path} HTTP/1.1`, [`Host: ${host}`, ...headers, ...lines]);
}

function* sendHundredMebibytes(target: Target, first: string, wrap: (piece: Buffer) => readonly (Buffer | string)[]) {
  yield postHead(target, first, 'Content-Type: application/json');
  const piece = Buffer.alloc(MEBIBYTE, 'x');
  for (let sent = 0; sent < 100; sent += 1) yield* wrap(piece);
}

type Row = readonly [name: string, pieces: HostileRequest['pieces']];

const BODIES: readonly Row[] = [
  ['JSON that ends early', post('{"templateID":')],
  ['a body that is no JSON', post('\u0000\u0001\u0002')],
  ['invalid UTF-8', post(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]))],
  ['a lone surrogate', post(String.raw`{"templateID":"\ud800","metadata":{"\udfff":"\ud800"}}`)],
  ['arrays within arrays', post('['.repeat(NESTED) + ']'.repeat(NESTED))],
  ['objects within objects', post('{"a":'.repeat(NESTED / 2) + '1' + '}'.repeat(NESTED / 2))],
  [
    'depth where anything is allowed, sent twice',
    post(`{"templateID":"base","mcp":{"x":{"y":${'['.repeat(NESTED)}${']'.repeat(NESTED)}}}}`, 'Idempotency-Key: deep'),
  ],
  [
    'keys of prototypes',
    post(
      '{"templateID":"base","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},' +
        '"metadata":{"__proto__":"1","constructor":"2","toString":"3"},"envVars":{"__proto__":"x","hasOwnProperty":"y"}}',
    ),
  ],
  ['a number beyond all numbers', post('{"templateID":"base","timeout":1e999}')],
  ['one key a hundred thousand times', post(`{${Array.from({ length: 50_000 }, () => '"templateID":"x"').join(',')}}`)],
  ['a body of another type', post('<?xml version="1.0"?><a/>', 'Content-Type: text/xml')],
  ['a type that is none', post('{}', 'Content-Type: ;;;=/')],
  ['a form', post('a=b&a[__proto__]=c', 'Content-Type: application/x-www-form-urlencoded')],
  ['an unknown encoding', post('{}', 'Content-Encoding: zstd')],
  ['an encoding it does not have', post('{"templateID":"base"}', 'Content-Encoding: gzip')],
  ['an unknown character set', post('{}', 'Content-Type: application/json; charset=utf-7')],
  [
    '100 MiB of a stated length',
    (t) => sendHundredMebibytes(t, `Content-Length: ${100 * MEBIBYTE}`, (piece) => [piece]),
  ],
  [
    '100 MiB in chunks',
    (t) => sendHundredMebibytes(t, 'Transfer-Encoding: chunked', (piece) => ['100000\r\n', piece, '\r\n']),
  ],
];

const FRAMES: readonly Row[] = [
  ['chunks of no number', (t) => [postHead(t, 'Transfer-Encoding: chunked'), 'zz\r\n{}\r\n0\r\n\r\n']],
  ['a chunk of a negative size', (t) => [postHead(t, 'Transfer-Encoding: chunked'), '-1\r\n{}\r\n']],
  ['a chunk larger than any', (t) => [postHead(t, 'Transfer-Encoding: chunked'), 'ffffffffffffffffff\r\n{}']],
  ['a chunk extension of 1 MiB', (t) => [postHead(t, 'Transfer-Encoding: chunked'), `2;${'e'.repeat(MEBIBYTE)}\r\n`]],
  ['two lengths', (t) => [postHead(t, 'Content-Length: 2', 'Content-Length: 40'), '{}']],
  ['length and chunks', (t) => [postHead(t, 'Content-Length: 4', 'Transfer-Encoding: chunked'), '0\r\n\r\n']],
  ['a negative length', (t) => [postHead(t, 'Content-Length: -1'), '{}']],
  ['a length beyond all numbers', (t) => [postHead(t, `Content-Length: ${'9'.repeat(40)}`), '{}']],
  ['an encoding behind chunks', (t) => [postHead(t, 'Transfer-Encoding: chunked, identity'), '0\r\n\r\n']],
  ['a body of a GET', (t) => [...get(t.item('x'), 'Content-Length: 2')(t), '{}']],
  ['an unknown expectation', (t) => [postHead(t, 'Content-Length: 2', 'Expect: the-moon'), '{}']],
  [
    'a hundred requests at once',
    (t) => Array.from({ length: 100 }, () => get(t.item('x'))(t)).flatMap((one) => [...one]),
  ],
];

const HEADS: readonly Row[] = [
  ['a header of 1 MiB', get('/', `X-Bomb: ${'b'.repeat(MEBIBYTE)}`)],
  ['5,000 headers', get('/', ...Array.from({ length: 5_000 }, (_, at) => `X-${at}: 1`))],
  ['the same header 500 times', get('/', ...Array.from({ length: 500 }, () => 'X-Request-ID: a'))],
  ['two hosts', get('/', 'Host: elsewhere.example')],
  ['two keys', get('/sandboxes', 'X-API-KEY: e2b_0', 'X-API-KEY: e2b_1')],
  ['a header without a name', get('/', ': nothing')],
  ['a header with a zero byte', get('/', 'X-Zero: a\u0000b')],
  ['a header over two lines', get('/', 'X-Folded: a\r\n b')],
  ['header names of prototypes', get('/', '__proto__: 1', 'constructor: 2', 'toString: 3')],
  ['lines that end in LF', ({ host }) => [`GET / HTTP/1.1\nHost: ${host}\n\n`]],
  ['no host', () => ['GET / HTTP/1.1\r\n\r\n']],
  ['a host that is none', ({ headers }) => [head('GET / HTTP/1.1', ['Host: [::1]]:99999%00', ...headers])]],
  ['HTTP/1.0', () => ['GET / HTTP/1.0\r\n\r\n']],
  ['HTTP/0.9', () => ['GET /\r\n\r\n']],
  ['HTTP/9.9', ({ host }) => [head('GET / HTTP/9.9', [`Host: ${host}`])]],
  ['the preface of HTTP/2', () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']],
  ['the greeting of TLS', () => [Buffer.from('16030100c2010000be0303', 'hex'), Buffer.alloc(180, 7)]],
  ['noise', () => [Buffer.from(Array.from({ length: 4_096 }, (_, at) => (at * 31 + 7) % 256))]],
  ['a method of its own', ({ host }) => [head('STEAL / HTTP/1.1', [`Host: ${host}`])]],
  ['a method of 100 kB', ({ host }) => [head(`${'G'.repeat(100_000)} / HTTP/1.1`, [`Host: ${host}`])]],
  ['CONNECT', () => ['CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n']],
  ['TRACE', (t) => [head('TRACE / HTTP/1.1', [`Host: ${t.host}`, ...t.headers])]],
  ['an upgrade to nothing', get('/sandboxes', 'Connection: Upgrade', 'Upgrade: nothing')],
  ['a WebSocket without a key', get('/', 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13')],
];

const TARGETS: readonly Row[] = [
  [
    'the form of proxies',
    (t) => [head('GET http://elsewhere.example/sandboxes HTTP/1.1', [`Host: ${t.host}`, ...t.headers])],
  ],
  ['the form of proxies, malformed', (t) => [head('GET http://[/%zz HTTP/1.1', [`Host: ${t.host}`, ...t.headers])]],
  ['an asterisk', (t) => [head('OPTIONS * HTTP/1.1', [`Host: ${t.host}`, ...t.headers])]],
  ['no slash', (t) => [head('GET sandboxes HTTP/1.1', [`Host: ${t.host}`, ...t.headers])]],
  ['two slashes', get('//elsewhere.example/sandboxes')],
  ['32 kB of a path', getItem('a'.repeat(32_000))],
  ['32 kB of a query', get(`/?${'a=b&'.repeat(8_000)}`)],
  ['a query of prototypes', get('/v2/sandboxes?__proto__=1&constructor=2&limit[__proto__]=3')],
  ['a query of broken escapes', get('/v2/sandboxes?metadata=%zz%c0%af%&limit=%')],
  [
    'bytes that are no text',
    ({ host }) => [Buffer.from(`GET /\xff\xfe\x80 HTTP/1.1\r\nHost: ${host}\r\n\r\n`, 'latin1')],
  ],
  ...[
    '%',
    '%zz',
    '%00',
    'a%00b',
    '%c0%af',
    '%ff',
    '%2e%2e',
    '..%2f..%2fsecrets',
    '%2f',
    '%5c..%5c',
    '%0d%0aX-A:%20b',
    '%u0041',
    ';',
    '*',
    '__proto__',
  ].map((id): Row => [`the id ${id}`, getItem(id)]),
];

/** All hostile requests. Their names are unique. */
export const hostileRequests: readonly HostileRequest[] = [...BODIES, ...FRAMES, ...HEADS, ...TARGETS].map(
  ([name, pieces]) => ({ name, pieces }),
);

/**
 * Sends a request over a new connection and resolves with the answer once it is complete, the server has closed the
 * connection, or the server has sent nothing for `quietMs` after the first data. Rejects when the server does nothing at
 * all for 20 times `quietMs`.
 */
export async function sendHostile(
  target: Target,
  { name, pieces }: HostileRequest,
  quietMs = 500,
): Promise<HostileAnswer> {
  const socket = connect(target.port, '127.0.0.1');
  const answer = Promise.withResolvers<HostileAnswer>();
  let text = '';
  const done = (): void => answer.resolve({ status: findStatus(text), text });
  let timer = systemClock.setTimeout(onLongSilence, quietMs * 20);
  function onLongSilence(): void {
    answer.reject(new Error(`${name}: neither an answer nor an end`));
  }
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    timer.cancel();
    if (isWhole(text)) done();
    else timer = systemClock.setTimeout(done, quietMs);
  });
  // A server may close the connection while we still send. The data before that is its answer.
  socket.on('error', done).on('close', done);
  const sending = send(socket, pieces(target));
  try {
    return await answer.promise;
  } finally {
    timer.cancel();
    socket.destroy();
    await sending;
  }
}

/** Whether an answer with a Content-Length is complete. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const [, length] = /^content-length: (\d+)\r?$/im.exec(text.slice(0, end)) ?? [];
  return end !== -1 && length !== undefined && text.length >= end + 4 + Number(length);
}

async function send(socket: Socket, pieces: Iterable<Buffer | string>): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const gone = (): void => resolve(undefined);
    socket.once('close', gone);
    socket.write(bytes, gone);
    await promise;
    socket.off('close', gone);
  }
}

function findStatus(text: string): number | undefined {
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(text) ?? [];
  return status === undefined ? undefined : Number(status);
}
