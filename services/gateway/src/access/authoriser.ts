import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKeys } from './api-keys.ts';
import type { Denial } from './denial.ts';
import type { KubernetesTokens } from './kubernetes-tokens.ts';

/** How agent-sandbox clients authenticate: not at all, with a Kubernetes token, with an API key, or with either. */
export const authModes = ['none', 'token', 'apikey', 'any'] as const;
export type AuthMode = (typeof authModes)[number];

export interface AuthoriserOptions {
  readonly tokens: Pick<KubernetesTokens, 'authorise'>;
  readonly keys: Pick<ApiKeys, 'authorise'>;
}

/** Who sent a request. */
export interface Sender {
  readonly headers: IncomingHttpHeaders;
  /** Whom its checks count for (see `limits/source.ts`). */
  readonly source: string;
}

/** The prefix of API keys, which no Kubernetes token has. */
const KEY_PREFIX = 'e2b_';
const KEY_AS_BEARER = new RegExp(`^Bearer +(${KEY_PREFIX}[0-9a-zA-Z]{1,256})$`, 'i');

const NO_KEY: Denial = {
  kind: 'unauthorised',
  status: 401,
  message: 'An API key is needed to talk to a sandbox: X-API-Key: e2b_…, or the same as Authorization: Bearer',
};

/** Decides who may reach sandboxes with agent-sandbox headers. When a request has an API key and a token, the key counts. */
export class Authoriser {
  readonly #o: AuthoriserOptions;

  constructor(options: AuthoriserOptions) {
    this.#o = options;
  }

  /** Why the sender is refused; undefined: the sender is allowed. */
  async authorise(
    auth: AuthMode,
    { headers, source }: Sender,
    sandbox: { readonly namespace: string; readonly name: string },
  ): Promise<Denial> {
    if (auth === 'none') return undefined;
    const key = auth === 'token' ? undefined : findKey(headers);
    if (key !== undefined) return this.#o.keys.authorise(key, sandbox.namespace, source);
    if (auth !== 'apikey') return this.#o.tokens.authorise(headers.authorization, sandbox, source);
    return NO_KEY;
  }
}

function findKey(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-api-key'];
  if (typeof given === 'string' && given !== '') return given;
  return KEY_AS_BEARER.exec(headers.authorization ?? '')?.[1];
}
