// Builds of templates (docs/reference/e2b-api.md#template-builds).
import { endpoint, route } from '../../http/route.ts';
import type { Route, TenantCall } from '../../http/route.ts';
import type { BuiltTemplateRequest } from './request/answer.ts';
import { buildRequestAnswer, buildRequestAnswerV2 } from './request/answer.ts';
import { buildFilesRoute } from './files/routes.ts';
import type { FilesDeps } from './files/files.ts';
import { readLogs } from './progress/read-logs.ts';
import { readStatus } from './progress/read-status.ts';
import type { ProgressDeps } from './progress/read-status.ts';
import * as progress from './progress/schemas.ts';
import { readTemplateRequest } from './request/read-template.ts';
import { requestTemplate } from './request/request-template.ts';
import type { RequestDeps } from './request/request-template.ts';
import * as schemas from './request/schemas.ts';
import type { NewTemplate } from './request/schemas.ts';
import { startBuild } from './request/start-build.ts';
import type { StartBuildDeps } from './request/start-build.ts';
import type { AnswerOptions } from '../answer/sandbox.ts';
import { listTagged } from '../templates/built/built-templates.ts';
import { isPublic } from '../templates/public/find-public.ts';

export interface BuildRouteDeps extends RequestDeps, StartBuildDeps, ProgressDeps, FilesDeps {
  readonly client: StartBuildDeps['client'];
  readonly informers: StartBuildDeps['informers'];
  readonly builds: RequestDeps['builds'];
  readonly builder: ProgressDeps['builder'] & FilesDeps['builder'];
  readonly clock: ProgressDeps['clock'] & FilesDeps['clock'];
  readonly answers: StartBuildDeps['answers'] & Pick<AnswerOptions, 'envdVersion'>;
}

const shape = { tag: 'E2B template builds' } as const;
/** Steps may be long commands. */
const MOST_START_BYTES = 2_097_152;

export function buildBuildRoutes(deps: BuildRouteDeps): readonly Route[] {
  return [...listRequestRoutes(deps), buildStartRoute(deps), ...listProgressRoutes(deps), buildFilesRoute(deps)];
}

function listRequestRoutes(deps: BuildRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'requestTemplateV3',
          'post /v3/templates',
          'Asks for a build of a template, which waits for its steps.',
        ),
        ...shape,
        body: schemas.newTemplate,
        answers: { 202: { description: 'The build waits.', schema: schemas.templateRequestV3 } },
        action: 'template.request',
      },
      async (call) => ({ status: 202, body: buildRequestAnswer(await makeRequest(deps, call, call.body)) }),
    ),
    route(
      {
        ...endpoint('requestTemplateV2', 'post /v2/templates', 'Asks for the same, as older clients do.'),
        ...shape,
        body: schemas.newTemplateV2,
        answers: { 202: { description: 'The build waits.', schema: schemas.templateRequestV2 } },
        action: 'template.request',
      },
      async (call) => {
        const made = await makeRequest(deps, call, { ...call.body, name: call.body.alias });
        return { status: 202, body: buildRequestAnswerV2(made, deps.answers.envdVersion) };
      },
    ),
  ];
}

async function makeRequest(
  deps: BuildRouteDeps,
  { key, trail }: Pick<TenantCall, 'key' | 'trail'>,
  body: NewTemplate,
): Promise<BuiltTemplateRequest> {
  deps.builds.assertEnabled();
  const requested = readTemplateRequest(body, key);
  trail.about({ name: requested.templateID });
  const build = await requestTemplate(deps, key, requested);
  trail.about({ name: requested.templateID, uid: build.metadata.uid ?? '' });
  const tagged = await listTagged(deps, key.namespace, requested.templateID);
  return { build, requested, team: key.team, isPublic: isPublic(tagged) };
}

function buildStartRoute(deps: BuildRouteDeps): Route {
  return route(
    {
      ...endpoint(
        'startTemplateBuild',
        'post /v2/templates/{templateID}/builds/{buildID}',
        'Gives a build its steps, and starts it.',
      ),
      ...shape,
      params: schemas.buildParams,
      body: schemas.buildStart,
      bodyLimit: MOST_START_BYTES,
      answers: { 202: { description: 'It builds, or waits for its turn.' } },
      action: 'template.build',
    },
    async ({ key, params: named, body, trail }) => {
      deps.builds.assertEnabled();
      const { metadata } = await startBuild(deps, key, { named, body });
      trail.about({ name: named.templateID, uid: metadata.uid ?? '' });
      return { status: 202 };
    },
  );
}

function listProgressRoutes(deps: BuildRouteDeps): readonly Route[] {
  return [
    route(
      {
        ...endpoint(
          'getTemplateBuildStatus',
          'get /templates/{templateID}/builds/{buildID}/status',
          'Says how far a build is, with a page of its log.',
        ),
        ...shape,
        params: schemas.buildParams,
        query: progress.statusQuery,
        answers: { 200: { description: 'Its state.', schema: progress.buildInfo } },
      },
      async ({ key, params: named, query, signal }) => {
        deps.builds.assertEnabled();
        return { status: 200, body: await readStatus(deps, key, { named, query, signal }) };
      },
    ),
    route(
      {
        ...endpoint(
          'getTemplateBuildLogs',
          'get /templates/{templateID}/builds/{buildID}/logs',
          'Reads the log of a build.',
        ),
        ...shape,
        params: schemas.buildParams,
        query: progress.logsQuery,
        answers: { 200: { description: 'Entries of the log.', schema: progress.buildLogs } },
      },
      async ({ key, params: named, query, signal }) => {
        deps.builds.assertEnabled();
        return { status: 200, body: { logs: await readLogs(deps, key, { named, query, signal }) } };
      },
    ),
  ];
}
