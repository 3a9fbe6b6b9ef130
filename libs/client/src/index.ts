import createFetchClient from 'openapi-fetch';
import type { Client, ClientOptions } from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';

export type { components, paths };

export interface SandlotClientOptions {
  /** URL of the API, such as `https://api.sandbox.example.com`. */
  readonly baseUrl: string;
  /** `e2b_` and 40 hex digits. Without a key only the public operations work. */
  readonly apiKey?: string | undefined;
  /** Replaces the platform's `fetch`. */
  readonly fetch?: ClientOptions['fetch'];
}

export type SandlotClient = Client<paths>;

/**
 * Creates a client of the Sandlot API, typed by its OpenAPI document: `client.GET('/api/v1/pools')`. A call resolves with `data`,
 * or with `error` for an error answer, and rejects if there is no answer.
 */
export function createSandlotClient({ baseUrl, apiKey, fetch }: SandlotClientOptions): SandlotClient {
  return createFetchClient<paths>({
    baseUrl,
    ...(fetch === undefined ? {} : { fetch }),
    headers: apiKey === undefined ? {} : { 'X-API-KEY': apiKey },
  });
}
