import { z } from 'zod';
import { notFound } from '../errors/api-error.ts';
import { gone } from '../errors/refusals.ts';
import { errorAnswer } from '../errors/schema.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';

const shape = { tag: 'not supported' } as const;
const error = (description: string) => ({ description, schema: errorAnswer });

/** Access tokens, which E2B issues no more: there are none here (docs/reference/e2b-api.md#routes). */
export const accessTokenRoutes: readonly Route[] = [
  route(
    {
      ...endpoint('createAccessToken', 'post /access-tokens', 'Not supported: access tokens.'),
      ...shape,
      answers: { 410: error('E2B has taken it back.') },
    },
    () => Promise.reject(gone('access tokens are not supported; use an API key')),
  ),
  route(
    {
      ...endpoint('deleteAccessToken', 'delete /access-tokens/{accessTokenID}', 'Not supported: access tokens.'),
      ...shape,
      params: z.object({ accessTokenID: z.string() }),
      answers: { 404: error('There is none.') },
    },
    ({ params }) => Promise.reject(notFound(`access token '${params.accessTokenID}' was not found`)),
  ),
];
