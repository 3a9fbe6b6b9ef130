import { createSecureServer } from 'node:http2';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { addNames } from './hosts.ts';
import { listen, openPlace } from './place.ts';

/** Marks a message that is not compressed; its length follows in four bytes. */
const PLAIN = 0;

export interface GrpcOptions {
  /** A public address that this machine takes meanwhile, from a block without hosts. */
  readonly address: string;
  readonly name: string;
  /** The header that it answers with. */
  readonly header: string;
}

/** A gRPC server that answers every message of a call with one: the header that it got. */
export async function openGrpcServer({ address, name, header }: GrpcOptions): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const { cert, key } = stack.use(await openPlace(address, [name]));
  const server = createSecureServer({ cert, key }).on('stream', (stream, headers) => answer(stream, headers, header));
  const sessions = new Set<Disposable>();
  server.on('session', (session) => {
    const open = { [Symbol.dispose]: () => session.destroy() };
    sessions.add(open);
    session.once('close', () => sessions.delete(open));
  });
  stack.use(await listen(server, 443, address));
  stack.defer(() => {
    for (const session of sessions) session[Symbol.dispose]();
  });
  stack.use(await addNames([`${address} ${name}`]));
  const kept = stack.move();
  return { [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

function answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, header: string): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  const text = Buffer.from(String(headers[header]));
  const message = Buffer.alloc(5 + text.length, PLAIN);
  message.writeUInt32BE(text.length, 1);
  text.copy(message, 5);
  let waiting = Buffer.alloc(0);
  stream.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (let end = findEnd(waiting); end !== undefined; end = findEnd(waiting)) {
      waiting = waiting.subarray(end);
      stream.write(message);
    }
  });
  stream.on('end', () => stream.end());
}

/** Where the first message ends; undefined: it is not whole yet. */
function findEnd(bytes: Buffer): number | undefined {
  if (bytes.length < 5) return undefined;
  const end = 5 + bytes.readUInt32BE(1);
  return end <= bytes.length ? end : undefined;
}
