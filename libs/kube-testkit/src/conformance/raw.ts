import { Agent, request } from 'node:https';
import type { Credentials } from '@sandlot/kube';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed value if the body is JSON, else the text. */
  readonly body: unknown;
}

export interface RawCall {
  readonly method: string;
  readonly path: string;
  readonly body?: object | undefined;
  readonly contentType?: string | undefined;
}

export type RawRequester = (call: RawCall) => Promise<RawAnswer>;

const TIMEOUT_MS = 15_000;

/** Sends plain HTTP/1.1 requests with the given credentials, without retries or error handling. */
export function createRawRequester(credentials: Credentials): RawRequester {
  const { server, ca, cert, key } = credentials;
  const agent = new Agent({ keepAlive: false, ca, cert, key });
  return async ({ method, path, body, contentType = 'application/json' }) => {
    const authorization = await credentials.getAuthorization();
    const payload = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      'content-type': contentType,
      'content-length': Buffer.byteLength(payload),
      ...(authorization === undefined ? {} : { authorization }),
    };
    return new Promise((resolve, reject) => {
      const call = request(new URL(path, server), { method, headers, agent, timeout: TIMEOUT_MS }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parseJson(text) });
        });
      });
      call.on('timeout', () => call.destroy(new Error(`${method} ${path}: no answer`)));
      call.on('error', reject);
      call.end(payload);
    });
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
