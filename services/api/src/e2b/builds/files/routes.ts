import { z } from 'zod';
import { buildPublicRoute, endpoint, route } from '../../../http/route.ts';
import type { Call, Route } from '../../../http/route.ts';
import { filesParams } from '../request/schemas.ts';
import { askForFiles, receiveFiles } from './files.ts';
import type { FilesDeps } from './files.ts';
import { uploadQuery } from './upload-url.ts';

const TAG = 'E2B template builds';

/** Asks whether the builder has an archive with files of COPY steps. */
export function buildFilesRoute(deps: FilesDeps): Route {
  return route(
    {
      ...endpoint(
        'getTemplateFiles',
        'get /templates/{templateID}/files/{hash}',
        'Says whether files of a build are there, and where to send them.',
      ),
      tag: TAG,
      params: filesParams,
      answers: {
        201: {
          description: 'Whether they are there, and the URL for a PUT of the archive, which needs no API key.',
          schema: z.object({ present: z.boolean(), url: z.string() }).meta({ id: 'TemplateBuildFileUpload' }),
        },
      },
    },
    async ({ key, params, origin, signal }) => ({
      status: 201,
      body: await askForFiles(deps, key, { ...params, origin, signal }),
    }),
  );
}

type UploadCall = Call<{ params: z.output<typeof filesParams>; query: z.output<typeof uploadQuery> }>;

/** Receives such an archive. It is in no document: clients get the whole URL. */
export function buildUploadRoute(deps: FilesDeps): Route {
  return buildPublicRoute(
    {
      ...endpoint('putTemplateFiles', 'put /templates/{templateID}/files/{hash}', 'Receives files of a build.'),
      tag: TAG,
      params: filesParams,
      query: uploadQuery,
      streams: true,
      answers: { 204: { description: 'They are stored.' } },
    },
    async (call) => {
      const { params, query, content, signal } = call as UploadCall;
      await receiveFiles(deps, { ...params, query, content, signal });
      return { status: 204 };
    },
  );
}
