import { subscribe, unsubscribe } from 'node:diagnostics_channel';

/** The answers of 500 and above that the clients of this process got. The E2B client hides their words from its callers. */
export interface Refusals {
  /** One text for each: when, which request, what the server answered. */
  list(): readonly string[];
  stop(): void;
}

/** What undici, by which the E2B client speaks HTTP, says of a request on its diagnostics channels. */
interface Message {
  readonly request: { readonly method: string; readonly origin: string | URL; readonly path: string };
  readonly response?: { readonly statusCode: number };
  readonly chunk?: Uint8Array;
}

const HEADERS = 'undici:request:headers';
const CHUNK = 'undici:request:bodyChunkReceived';

export function watchRefusals(): Refusals {
  const beginMs = performance.now();
  const texts = new Map<object, string>();
  const onHeaders = (message: unknown): void => {
    const { request, response } = message as Message;
    if (response === undefined || response.statusCode < 500) return;
    const seconds = ((performance.now() - beginMs) / 1_000).toFixed(1);
    const { method, origin, path } = request;
    texts.set(request, `after ${seconds} s: ${method} ${String(origin)}${path}: ${response.statusCode} `);
  };
  const onChunk = (message: unknown): void => {
    const { request, chunk } = message as Message;
    const text = texts.get(request);
    if (text !== undefined && chunk !== undefined) texts.set(request, text + new TextDecoder().decode(chunk));
  };
  subscribe(HEADERS, onHeaders);
  subscribe(CHUNK, onChunk);
  return {
    list: () => [...texts.values()],
    stop: () => {
      unsubscribe(HEADERS, onHeaders);
      unsubscribe(CHUNK, onChunk);
    },
  };
}
