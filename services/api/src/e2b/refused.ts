import { ApiError, NO_RETRY } from '../errors/api-error.ts';
import { notEnabled } from '../errors/refusals.ts';
import { errorAnswer } from '../errors/schema.ts';
import { route } from '../http/route.ts';
import type { Method, Route } from '../http/route.ts';
import { buildOperationId } from './unsupported.ts';

const answers = { 403: { description: 'Refused.', schema: errorAnswer } };

const METHODS: readonly Method[] = ['get', 'post', 'put', 'patch', 'delete'];

/** Every request at a path, or below it. */
function listOperations(root: string): readonly { readonly method: Method; readonly path: string }[] {
  return METHODS.flatMap((method) => [root, `${root}/{*rest}`].map((path) => ({ method, path })));
}

function refuseTree(root: string, refuse: () => ApiError): readonly Route[] {
  return listOperations(root).map(({ method, path }) =>
    route(
      { id: buildOperationId(method, path), method, path, summary: 'Refused.', tag: 'not supported', answers },
      () => Promise.reject(refuse()),
    ),
  );
}

/** The API has no right to Nodes (docs/reference/e2b-api.md#api-keys-and-administration). */
export const refusedRoutes: readonly Route[] = refuseTree('/nodes', () => notEnabled('nodes are'));

/** What the public port answers where the admin port has the operations. */
export const publicRefusals: readonly Route[] = ['/api-keys', '/admin'].flatMap((root) =>
  refuseTree(root, () => {
    const message = `${root} is served on the admin port of the API alone, to API keys of the role admin`;
    return new ApiError({ status: 403, message, errorCode: 'not_enabled', headers: NO_RETRY });
  }),
);
