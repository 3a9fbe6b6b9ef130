import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKeys } from './api-keys.ts';
import type { Bearers, Verdict } from './kubernetes-tokens.ts';

/** What agent-sandbox clients prove themselves by (E2B wire contract 6.3). */
export const auths = ['none', 'token', 'apikey', 'any'] as const;
export type Auth = (typeof auths)[number];

export interface CallersOptions {
  readonly bearers: Pick<Bearers, 'judge'>;
  readonly keys: Pick<ApiKeys, 'judge'>;
}

/** What begins so is no Kubernetes token. */
const KEY_PREFIX = 'e2b_';
const KEY_AS_BEARER = new RegExp(`^Bearer +(${KEY_PREFIX}[0-9a-zA-Z]{1,256})$`, 'i');

/** Who may talk to sandboxes by agent-sandbox headers: an API key goes before a token. */
export class Callers {
  readonly #o: CallersOptions;

  constructor(options: CallersOptions) {
    this.#o = options;
  }

  /** Why the sender of these headers is refused; undefined: he is not. */
  async judge(
    auth: Auth,
    headers: IncomingHttpHeaders,
    sandbox: { readonly namespace: string; readonly name: string },
  ): Promise<Verdict> {
    if (auth === 'none') return undefined;
    const key = auth === 'token' ? undefined : keyOf(headers);
    if (key !== undefined) return this.#o.keys.judge(key, sandbox.namespace);
    if (auth !== 'apikey') return this.#o.bearers.judge(headers.authorization, sandbox);
    return NO_KEY;
  }
}

const NO_KEY: Verdict = {
  kind: 'unauthorised',
  status: 401,
  message: 'An API key is needed to talk to a sandbox: X-API-Key: e2b_…, or the same as Authorization: Bearer',
};

function keyOf(headers: IncomingHttpHeaders): string | undefined {
  const given = headers['x-api-key'];
  if (typeof given === 'string' && given !== '') return given;
  return KEY_AS_BEARER.exec(headers.authorization ?? '')?.[1];
}
