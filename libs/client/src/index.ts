import createFetchClient from 'openapi-fetch';
import type { Client, ClientOptions } from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';

export type { components, paths };

export interface SandlotClientOptions {
  /** Where the API is, such as `https://api.sandbox.example.com`. */
  readonly baseUrl: string;
  /** `e2b_` and 40 hex digits. Absent: only what is public. */
  readonly apiKey?: string | undefined;
  /** Instead of the platform's own. */
  readonly fetch?: ClientOptions['fetch'];
}

export type SandlotClient = Client<paths>;

/**
 * A client of the Sandlot API with the types of its OpenAPI document: `client.GET('/api/v1/pools')`. Resolves with `data`
 * or, for refusals, `error`; rejects when nobody answers.
 */
export function createSandlotClient({ baseUrl, apiKey, fetch }: SandlotClientOptions): SandlotClient {
  return createFetchClient<paths>({
    baseUrl,
    ...(fetch === undefined ? {} : { fetch }),
    headers: apiKey === undefined ? {} : { 'X-API-KEY': apiKey },
  });
}
