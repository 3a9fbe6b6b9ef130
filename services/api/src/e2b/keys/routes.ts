import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Answer, Route } from '../../http/route.ts';
import type { ApiKey } from '@sandlot/tenancy';
import * as schemas from './schemas.ts';
import { buildTeamKey } from './team-key.ts';
import { TeamKeys } from './team-keys.ts';
import type { KeysOf, TeamKeysDeps } from './team-keys.ts';

/** For admins alone, as `/api/v1/keys`: on the admin port, with an API key of that role in either header. */
const shape = { tag: 'E2B API keys', access: 'admin', adminToken: true } as const;
const own = { ...shape, headers: schemas.teamHeader } as const;
const created = { 201: { description: 'The key, which is shown this once.', schema: schemas.createdTeamKey } } as const;
const done = { 204: { description: 'Done.' } } as const;

/** API keys of a team in the dialect of E2B. */
export function buildTeamKeyRoutes(deps: TeamKeysDeps): readonly Route[] {
  const keys = new TeamKeys(deps);
  return [buildListRoute(keys), ...buildCreateRoutes(keys), buildRenameRoute(keys), ...buildRevokeRoutes(keys)];
}

interface OwnCall {
  readonly key: ApiKey;
  readonly signal: AbortSignal;
  readonly readHeaders: () => z.output<typeof schemas.teamHeader>;
}

function findTeam({ key, signal, readHeaders }: OwnCall): KeysOf {
  return { namespace: readHeaders()['x-team-id'] ?? key.namespace, admin: key, signal };
}

function buildListRoute(keys: TeamKeys): Route {
  return route(
    {
      ...endpoint('listTeamApiKeys', 'get /api-keys', 'Lists the API keys of the team.'),
      ...own,
      answers: { 200: { description: 'All of them, the oldest first.', schema: z.array(schemas.teamKey) } },
    },
    async (call) => ({ status: 200, body: (await keys.list(findTeam(call).namespace)).map(buildTeamKey) }),
  );
}

function buildCreateRoutes(keys: TeamKeys): readonly Route[] {
  const create = async (name: string, of: KeysOf): Promise<[string, Answer]> => {
    const { key, text } = await keys.create(name, of);
    return [key.id, { status: 201, body: { ...buildTeamKey(key), key: text } }];
  };
  const more = { body: schemas.newName, answers: created, action: 'key.create' } as const;
  return [
    route(
      { ...endpoint('createTeamApiKey', 'post /api-keys', 'Makes an API key for the team.'), ...own, ...more },
      async (call) => {
        const [name, answer] = await create(call.body.name, findTeam(call));
        call.trail.about({ name });
        return answer;
      },
    ),
    route(
      {
        ...endpoint('createApiKeyOfTeam', 'post /admin/teams/{teamID}/api-keys', 'Makes an API key for a team.'),
        ...shape,
        ...more,
        params: schemas.teamParams,
      },
      async ({ key, body, params, signal, trail }) => {
        const [name, answer] = await create(body.name, { namespace: params.teamID, admin: key, signal });
        trail.about({ name });
        return answer;
      },
    ),
  ];
}

function buildRenameRoute(keys: TeamKeys): Route {
  return route(
    {
      ...endpoint('renameTeamApiKey', 'patch /api-keys/{apiKeyID}', 'Gives an API key another name.'),
      ...own,
      params: schemas.keyParams,
      body: schemas.newName,
      answers: { 200: { description: 'Done.' } },
      action: 'key.rename',
    },
    async (call) => {
      call.trail.about({ name: await keys.rename(call.params.apiKeyID, call.body.name, findTeam(call)) });
      return { status: 200 };
    },
  );
}

function buildRevokeRoutes(keys: TeamKeys): readonly Route[] {
  const more = { answers: done, action: 'key.revoke' } as const;
  return [
    route(
      {
        ...endpoint('deleteTeamApiKey', 'delete /api-keys/{apiKeyID}', 'Takes an API key back; its sandboxes stay.'),
        ...own,
        ...more,
        params: schemas.keyParams,
      },
      async (call) => {
        call.trail.about({ name: await keys.revoke(call.params.apiKeyID, findTeam(call)) });
        return { status: 204 };
      },
    ),
    route(
      {
        ...endpoint(
          'deleteApiKeyOfTeam',
          'delete /admin/teams/{teamID}/api-keys/{apiKeyID}',
          'Takes an API key of a team back.',
        ),
        ...shape,
        ...more,
        params: schemas.teamKeyParams,
      },
      async ({ key, params, signal, trail }) => {
        const of = { namespace: params.teamID, admin: key, signal };
        trail.about({ name: await keys.revoke(params.apiKeyID, of) });
        return { status: 204 };
      },
    ),
  ];
}
