// The command line, as the clients of E2B use it.
import { GatewayError, quote } from './errors.ts';

export type Arguments =
  | { readonly command: 'start'; readonly config: string }
  | { readonly command: 'pull'; readonly servers: readonly string[] }
  /** Starts again after a boot, with the configuration of the start before. */
  | { readonly command: 'restore' }
  /** Serves in the foreground. The other commands run it. */
  | { readonly command: 'serve' };

const usage = `usage: mcp-gateway --config '{"<server>": {<settings>}}'   with the variable GATEWAY_ACCESS_TOKEN
       mcp-gateway pull <server>...`;

const isInner = (text: string): text is 'serve' | 'restore' => text === 'serve' || text === 'restore';

/** Reads the arguments. Throws GatewayError. */
export function readArguments([first = '', ...rest]: readonly string[]): Arguments {
  const [config] = rest;
  if (first === 'pull' && rest.length > 0) return { command: 'pull', servers: rest };
  if (first === '--config' && config !== undefined && rest.length === 1) return { command: 'start', config };
  if (rest.length === 0 && isInner(first)) return { command: first };
  throw new GatewayError('usage', first === '' ? usage : `${quote(first)} is not understood\n${usage}`);
}

const MOST_TOKEN = 512;

/** The token that clients have to send. Throws GatewayError if the variable has none. */
export function readToken(token: string | undefined): string {
  if (token !== undefined && token.length <= MOST_TOKEN && /^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new GatewayError('usage', `GATEWAY_ACCESS_TOKEN has to have 16 to ${MOST_TOKEN} printable characters`);
}
