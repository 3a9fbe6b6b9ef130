import { createDocument } from 'zod-openapi';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi';
import { errorAnswer } from '../errors/schema.ts';
import type { AnswerSpec, Route } from '../http/route.ts';

const KEY = { apiKey: [] };

/** Errors that an operation may answer with; `any` applies to public operations as well. */
const ERRORS: readonly (readonly [status: number, description: string, access: Route['access'] | 'any'])[] = [
  [400, 'The request cannot be served as it is; the message names the field.', 'any'],
  [401, 'No API key, or one that is unknown or was revoked.', 'tenant'],
  [403, 'Not with this API key.', 'tenant'],
  [404, 'There is no such thing, as far as this API key goes.', 'tenant'],
  [409, 'It is in another state, or on its way to one.', 'tenant'],
  [413, 'The body is too large.', 'tenant'],
  [415, 'The encoding of the body is not known.', 'tenant'],
  [422, 'The Idempotency-Key was used for another request.', 'tenant'],
  [429, 'A quota is used up; Retry-After says when to come again.', 'tenant'],
  [500, 'An internal error.', 'any'],
  [503, 'The cluster cannot serve it now; it may be tried again.', 'tenant'],
  [504, 'It was not done in time.', 'tenant'],
];

const ABOUT = `The API of a Sandlot installation: the E2B dialect, which the stock E2B client libraries speak, and under
\`/api/v1\` what that has no word for. Every request needs an API key in the header \`X-API-KEY\`. A key belongs to one
namespace, and all it does happens there.`;

/** Builds the OpenAPI 3.1 document of these operations. */
export function buildOpenApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  const errors = getErrorAnswers();
  for (const route of routes) (paths[route.path] ??= {})[route.method] = buildOperation(route, errors);
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Sandlot API',
      version,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This installation.' }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' } },
    },
  });
}

function buildOperation(route: Route, errors: Errors): ZodOpenApiOperationObject {
  const { id, summary, tag, params, query, headers, hideHeaders = false, body, access } = route;
  return {
    operationId: id,
    summary,
    tags: [tag],
    security: access === 'public' ? [] : [KEY],
    ...(access === 'admin'
      ? { description: 'Needs an API key of the role admin, and is served on the admin port alone.' }
      : {}),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined || hideHeaders ? {} : { header: headers }),
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: !body.safeParse({}).success, content: { 'application/json': { schema: body } } } }),
    responses: getResponses(route, errors),
  };
}

type Errors = ReadonlyMap<number, ZodOpenApiResponseObject>;

/** One object per status, so that the document defines each of them only once. */
function getErrorAnswers(): Errors {
  const found = new Map<number, ZodOpenApiResponseObject>();
  for (const [status, description] of ERRORS) {
    found.set(status, { id: `Refusal${status}`, ...answerObject({ description, schema: errorAnswer }) });
  }
  return found;
}

function getResponses({ answers, access }: Route, errors: Errors): ZodOpenApiResponsesObject {
  const shared = ERRORS.filter(([, , which]) => which === 'any' || access !== 'public');
  const common = shared.map(([status]) => [String(status), errors.get(status) ?? {}] as const);
  const own = Object.entries(answers).map(([status, spec]) => [status, answerObject(spec)] as const);
  return Object.fromEntries([...common, ...own]) as ZodOpenApiResponsesObject;
}

function answerObject({ description, schema, type = 'application/json', headers }: AnswerSpec) {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    ...(schema === undefined ? {} : { content: { [type]: { schema } } }),
  };
}
