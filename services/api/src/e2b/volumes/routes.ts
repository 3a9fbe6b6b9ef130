import { formatVolumeToken } from '@sandlot/tenancy';
import type { TokenKeys } from '@sandlot/tenancy';
import type { TeamVolume } from '@sandlot/api-types';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { endpoint, route } from '../../http/route.ts';
import type { Route } from '../../http/route.ts';
import { buildContentRoutes } from './content/routes.ts';
import type { ContentDeps } from './content/routes.ts';
import { openRegistry } from './registry.ts';
import type { RegistryOptions } from './registry.ts';
import { listedVolume, newVolume, volumeAnswer, volumeParams } from './schemas.ts';

interface VolumeDeps {
  /** Undefined: the installation has no volumes. */
  readonly volumeRegistry: RegistryOptions | undefined;
  readonly answers: { readonly tokenKeys: TokenKeys };
  readonly clock: Pick<Clock, 'now'>;
}

export type VolumeRouteDeps = VolumeDeps & ContentDeps;

const shape = { tag: 'E2B volumes' } as const;
const one = { description: 'The volume, with a token for its content.', schema: volumeAnswer };

/** Volumes of a team, and their content. */
export function buildVolumeRoutes(deps: VolumeRouteDeps): readonly Route[] {
  return [...buildReads(deps), ...buildWrites(deps), ...buildContentRoutes(deps)];
}

function buildReads(deps: VolumeDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('listVolumes', 'get /volumes', 'Lists the volumes of the team.'),
        ...shape,
        answers: { 200: { description: 'All of them, by name.', schema: z.array(listedVolume) } },
      },
      async ({ key }) => {
        const volumes = await openRegistry(deps.volumeRegistry, key.namespace).list();
        return { status: 200, body: volumes.map(({ id, name }) => ({ volumeID: id, name })) };
      },
    ),
    route(
      {
        ...endpoint('getVolume', 'get /volumes/{volumeID}', 'Gives out a new token for the content of a volume.'),
        ...shape,
        params: volumeParams,
        answers: { 200: one },
      },
      async ({ key, params }) => ({
        status: 200,
        body: buildAnswer(deps, await openRegistry(deps.volumeRegistry, key.namespace).get(params.volumeID)),
      }),
    ),
  ];
}

function buildWrites(deps: VolumeDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint('createVolume', 'post /volumes', 'Creates a volume.'),
        ...shape,
        body: newVolume,
        answers: { 201: one },
        action: 'volume.create',
      },
      async ({ key, body, trail }) => {
        trail.about({ name: body.name });
        const created = await openRegistry(deps.volumeRegistry, key.namespace).create(body.name);
        trail.about({ name: created.name, uid: created.id });
        return { status: 201, body: buildAnswer(deps, created) };
      },
    ),
    route(
      {
        ...endpoint('deleteVolume', 'delete /volumes/{volumeID}', 'Deletes a volume with its data.'),
        ...shape,
        params: volumeParams,
        answers: { 204: { description: 'It is gone; its data goes in the background.' } },
        action: 'volume.delete',
      },
      async ({ key, params, trail }) => {
        const { id, name } = await openRegistry(deps.volumeRegistry, key.namespace).remove(params.volumeID);
        trail.about({ name, uid: id });
        return { status: 204 };
      },
    ),
  ];
}

function buildAnswer({ answers, clock }: VolumeDeps, volume: TeamVolume): z.output<typeof volumeAnswer> {
  return {
    volumeID: volume.id,
    name: volume.name,
    token: formatVolumeToken(answers.tokenKeys, volume, clock.now()),
  };
}
