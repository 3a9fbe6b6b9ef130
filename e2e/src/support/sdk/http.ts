import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { readAccess } from './client.ts';

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request to the gateway with this Host, or with the gateway's own. */
export async function ask(host: string | undefined, { method = 'GET', path = '/', body, headers }: Ask = {}) {
  const { hostname, port, host: own } = new URL((await readAccess()).apiUrl);
  const sent = request({ agent: false, hostname, port, method, path, headers: { ...headers, Host: host ?? own } });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return answer;
}

/** Reads the body of an answer as a JSON object. */
export async function json(answer: IncomingMessage): Promise<Record<string, unknown>> {
  return JSON.parse(await text(answer)) as Record<string, unknown>;
}
