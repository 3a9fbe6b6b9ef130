import type { KubeClient } from '@sandlot/kube';
import { isServed } from '@sandlot/service';
import type { ServedNamespaces } from '@sandlot/service';
import { createKey, listKeys, revokeKey, VIA_API } from '@sandlot/tenancy';
import type { ApiKey, KeyPlace, KeyRing } from '@sandlot/tenancy';
import { z } from 'zod';
import { notFound, notServed } from '../errors/api-error.ts';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import * as schemas from './schemas.ts';

export interface KeyDeps {
  readonly client: KubeClient;
  readonly keysNamespace: string;
  /** Those that keys of tenants may be for. */
  readonly namespaces: ServedNamespaces;
  readonly keys: Pick<KeyRing, 'findById'>;
  readonly state: Pick<ClusterState, 'waiters'>;
}

const TAG = 'API keys';
/** How long an answer waits until the watch of this replica shows the change. */
const SHOWN_WITHIN_MS = 5_000;

/** API keys: admins manage them, others see their own. Only the answer to a creation contains the text of a key. */
export function buildKeyRoutes(deps: KeyDeps): readonly Route[] {
  return [...buildKeyReads(deps), buildCreateRoute(deps), buildRevokeRoute(deps)];
}

function getPlace({ client, keysNamespace }: Pick<KeyDeps, 'client' | 'keysNamespace'>): KeyPlace {
  return { client, namespace: keysNamespace };
}

function buildKeyReads(deps: KeyDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('getOwnApiKey', 'get /api/v1/key', 'Says whose the API key of the request is.'),
        tag: TAG,
        answers: { 200: { description: 'The key, without its text.', schema: schemas.keyView } },
      },
      async ({ key }) => ({ status: 200, body: buildKeyView(key) }),
    ),
    route(
      {
        ...endpoint('listApiKeys', 'get /api/v1/keys', 'Lists the API keys.'),
        tag: TAG,
        access: 'admin',
        answers: { 200: { description: 'All of them.', schema: z.array(schemas.keyView) } },
      },
      async () => ({ status: 200, body: (await listKeys(getPlace(deps))).map(buildKeyView) }),
    ),
  ];
}

function buildCreateRoute({ namespaces, keys, state: { waiters }, ...deps }: KeyDeps): Route {
  return route(
    {
      ...endpoint('createApiKey', 'post /api/v1/keys', 'Makes an API key for a namespace.'),
      tag: TAG,
      access: 'admin',
      body: schemas.newKey,
      answers: { 201: { description: 'The key, which is shown this once.', schema: schemas.createdKey } },
      action: 'key.create',
    },
    async ({ body, trail, signal, key: { id: adminId } }) => {
      if (body.role === 'tenant' && !isServed(namespaces, body.namespace)) throw notServed(body.namespace);
      const place = { ...getPlace(deps), by: VIA_API + adminId };
      const { key, text } = await createKey(place, { ...body, team: body.team ?? body.namespace });
      trail.about({ name: key.id });
      const look = (): true | undefined => (keys.findById(key.id) === undefined ? undefined : true);
      await waiters.waitUntil({ keys: ['keys'], look, timeoutMs: SHOWN_WITHIN_MS, signal });
      return { status: 201, body: { ...buildKeyView(key), key: text } };
    },
  );
}

function buildRevokeRoute({ keys, state: { waiters }, ...deps }: KeyDeps): Route {
  return route(
    {
      ...endpoint('revokeApiKey', 'delete /api/v1/keys/{id}', 'Takes an API key back; its sandboxes stay.'),
      tag: TAG,
      access: 'admin',
      params: schemas.keyParams,
      answers: { 204: { description: 'Done.' } },
      action: 'key.revoke',
    },
    async ({ params: { id }, trail, signal, key: { id: adminId } }) => {
      trail.about({ name: id });
      const place = { ...getPlace(deps), by: VIA_API + adminId };
      if (!/^[0-9a-f]{1,64}$/.test(id) || !(await revokeKey(place, id))) throw notFound(`there is no API key '${id}'`);
      const look = (): true | undefined => (keys.findById(id) === undefined ? true : undefined);
      await waiters.waitUntil({ keys: ['keys'], look, timeoutMs: SHOWN_WITHIN_MS, signal });
      return { status: 204 };
    },
  );
}

function buildKeyView({
  id,
  namespace,
  team,
  role,
  description,
  limits,
  createdAt,
}: ApiKey): z.output<typeof schemas.keyView> {
  return { id, namespace, team, role, description, limits, createdAt };
}
