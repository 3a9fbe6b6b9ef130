import { z } from 'zod';
import { endpoint, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';

const team = z
  .object({ teamID: z.string(), name: z.string(), apiKey: z.string(), isDefault: z.literal(true) })
  .meta({ id: 'Team' });

/** The key as the client wrote it; a request that has it only as a bearer token is refused before. */
const ownKey = z.object({ 'x-api-key': z.string() });

/** The team of the API key. No key is minted for the answer, unlike at E2B: it has the caller's own. */
export function buildTeamRoute(): Route {
  return route(
    {
      ...endpoint('listTeams', 'get /teams', 'Names the team of the API key.'),
      tag: 'E2B teams',
      headers: ownKey,
      hideHeaders: true,
      answers: { 200: { description: 'One team, whose id is its namespace.', schema: z.array(team) } },
      bearerRefusal: 'log in with an API key: set E2B_API_KEY',
    },
    async ({ key, readHeaders }) => {
      const apiKey = readHeaders()['x-api-key'];
      return { status: 200, body: [{ teamID: key.namespace, name: key.team, apiKey, isDefault: true }] };
    },
  );
}
