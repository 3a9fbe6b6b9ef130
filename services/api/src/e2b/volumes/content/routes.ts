import { readVolumeToken } from '@sandlot/tenancy';
import type { Places, TokenKeys, VolumeTokenSubject } from '@sandlot/tenancy';
import type { Clock } from '@sandlot/std';
import { z } from 'zod';
import { ApiError } from '../../../errors/api-error.ts';
import { badVolumeToken, noVolume, tooManyTransfers } from '../../../errors/volume-errors.ts';
import { errorAnswer } from '../../../errors/schema.ts';
import { buildPublicRoute, endpoint } from '../../../http/route.ts';
import type { Answer, Call, Method, Route } from '../../../http/route.ts';
import { openRegistry } from '../registry.ts';
import type { RegistryOptions } from '../registry.ts';
import {
  contentError,
  entryStat,
  listingQuery,
  pathQuery,
  volumeHeaders,
  volumeParams,
  writeQuery,
} from '../schemas.ts';
import { sendToFileServer } from './relay.ts';
import type { FileServer } from './file-server.ts';

export interface ContentDeps {
  readonly volumeRegistry: RegistryOptions | undefined;
  readonly answers: { readonly tokenKeys: TokenKeys };
  readonly clock: Pick<Clock, 'now' | 'setTimeout'>;
  readonly fileServer: FileServer;
  readonly transferPlaces: Places;
}

type ContentCall = Call<{
  params: z.output<typeof volumeParams>;
  query: Readonly<Record<string, string | undefined>>;
  headers: z.output<typeof volumeHeaders>;
}>;

interface Operation {
  readonly id: string;
  readonly method: Method;
  readonly part: 'path' | 'dir' | 'file';
  readonly summary: string;
  readonly query: z.ZodObject & z.ZodType<Readonly<Record<string, string | undefined>>>;
  readonly success: number;
  readonly schema?: z.ZodType;
  readonly type?: string;
}

/** More of a team would take the connections of others. */
const MOST_TRANSFERS = 100;
const OCTETS = 'application/octet-stream';

const OPERATIONS: readonly Operation[] = [
  {
    ...{ id: 'getVolumePath', method: 'get', part: 'path', query: pathQuery, success: 200, schema: entryStat },
    summary: 'Describes what is at a path of a volume.',
  },
  {
    ...{ id: 'patchVolumePath', method: 'patch', part: 'path', query: pathQuery, success: 200, schema: entryStat },
    summary: 'Changes the mode of what is at a path of a volume.',
  },
  {
    ...{ id: 'deleteVolumePath', method: 'delete', part: 'path', query: pathQuery, success: 204 },
    summary: 'Removes what is at a path of a volume, with all below it.',
  },
  {
    ...{ id: 'listVolumeDir', method: 'get', part: 'dir', query: listingQuery, success: 200 },
    ...{ schema: z.array(entryStat), summary: 'Lists a directory of a volume.' },
  },
  {
    ...{ id: 'makeVolumeDir', method: 'post', part: 'dir', query: writeQuery, success: 201, schema: entryStat },
    summary: 'Makes a directory in a volume.',
  },
  {
    ...{ id: 'readVolumeFile', method: 'get', part: 'file', query: pathQuery, success: 200 },
    ...{ schema: z.string(), type: OCTETS, summary: 'Reads a file of a volume.' },
  },
  {
    ...{ id: 'writeVolumeFile', method: 'put', part: 'file', query: writeQuery, success: 201, schema: entryStat },
    summary: 'Writes a file into a volume.',
  },
];

const errorAnswers = Object.fromEntries(
  (
    [
      [400, 'The request cannot be served as it is.'],
      [401, 'The token does not open this volume.'],
      [403, 'The owner of the file does not allow it.'],
      [404, 'The volume, or what is at the path, does not exist.'],
      [408, 'Nothing of the transfer moved for too long.'],
      [409, 'Something is at the path already.'],
      [429, 'Too many operations of the team run.'],
      [503, 'The file server does not answer.'],
      [507, 'The volumes of the team are full.'],
    ] as const
  ).map(([status, description]) => [status, { description, schema: contentError }]),
);

/** The content of volumes, for which a token stands in for the API key. */
export function buildContentRoutes(deps: ContentDeps): readonly Route[] {
  return OPERATIONS.map(({ id, method, part, summary, query, success, schema, type }) =>
    buildPublicRoute(
      {
        ...endpoint(id, `${method} /volumecontent/{volumeID}/${part}`, summary),
        tag: 'E2B volumes',
        params: volumeParams,
        query,
        headers: volumeHeaders,
        hideHeaders: true,
        streams: true,
        answers: {
          [success]: { description: 'Done.', schema, type },
          ...errorAnswers,
          // Before the operation is known, so with the API's own form of an error.
          431: { description: 'The path is longer than the head of a request may be.', schema: errorAnswer },
        },
      },
      (call) => answerContent(deps, { method, part }, call as ContentCall),
    ),
  );
}

/** Errors of contents have a text as their code. */
async function answerContent(
  deps: ContentDeps,
  { method, part }: Pick<Operation, 'method' | 'part'>,
  call: ContentCall,
): Promise<Answer> {
  try {
    const subject = readSubject(deps, call);
    const { namespace, id } = subject;
    const given = Object.entries(call.query).filter((field): field is [string, string] => field[1] !== undefined);
    const path = `/volumes/${id}/${part}?${new URLSearchParams(given).toString()}`;
    return await inPlace(deps.transferPlaces, namespace, async () => {
      await assertPresent(deps, subject);
      await deps.fileServer.prepare({ namespace, id }, call.signal);
      return sendToFileServer(deps, { namespace, method: method.toUpperCase(), path }, call);
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, message, headers } = error;
    return { status, headers, body: { code: String(status), message } };
  }
}

/** Runs an operation as one of as many as a namespace may have. A download has its place until its end. */
async function inPlace(places: Places, namespace: string, run: () => Promise<Answer>): Promise<Answer> {
  const place = places.take(namespace, { present: 0, limit: MOST_TRANSFERS, wanted: 1 });
  if (place === undefined) throw tooManyTransfers(MOST_TRANSFERS);
  const leave = (): void => place[Symbol.dispose]();
  try {
    const answer = await run();
    if (answer.stream === undefined) leave();
    else answer.stream.content.once('close', leave);
    return answer;
  } catch (error) {
    leave();
    throw error;
  }
}

/** The volume of the request. Throws an ApiError 401 without its token. */
function readSubject(deps: ContentDeps, { params, readHeaders }: ContentCall): VolumeTokenSubject {
  const [, token = ''] = /^Bearer (\S+)$/i.exec(readHeaders().authorization ?? '') ?? [];
  const subject = readVolumeToken(deps.answers.tokenKeys, token, deps.clock.now());
  if (subject?.id !== params.volumeID) throw badVolumeToken();
  return subject;
}

/** A token outlives its volume. Throws an ApiError 404. */
async function assertPresent(
  { volumeRegistry }: ContentDeps,
  { namespace, name, id }: VolumeTokenSubject,
): Promise<void> {
  const volume = await openRegistry(volumeRegistry, namespace).findByName(name);
  if (volume?.id !== id) throw noVolume(id);
}
