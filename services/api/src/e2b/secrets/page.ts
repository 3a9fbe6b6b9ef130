import { badRequest } from '../../errors/api-error.ts';
import type { VaultSecret } from '../../vault/vault-secret.ts';
import type { SecretQuery } from './schemas.ts';

/** A page of secrets; `nextToken` is undefined on the last. */
export interface SecretPage {
  readonly items: readonly VaultSecret[];
  readonly nextToken: string | undefined;
}

const NAME = /^[a-z0-9_-]{1,128}$/;

/**
 * The page of secrets, which are in the order of their names, behind the name in the token: what is created or deleted
 * meanwhile moves nothing. Throws an ApiError 400 for a malformed token.
 */
export function buildSecretPage(sorted: readonly VaultSecret[], { limit, nextToken = '' }: SecretQuery): SecretPage {
  const after = nextToken === '' ? '' : readToken(nextToken);
  const rest = sorted.filter(({ name }) => name > after);
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  const isMore = rest.length > items.length && last !== undefined;
  return { items, nextToken: isMore ? Buffer.from(last.name).toString('base64url') : undefined };
}

function readToken(token: string): string {
  const name = Buffer.from(token, 'base64url').toString();
  if (!NAME.test(name)) throw badRequest('nextToken: this is no token of a page');
  return name;
}
