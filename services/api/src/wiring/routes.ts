import { buildApiV1Routes } from '../api-v1/routes.ts';
import type { ApiV1Deps } from '../api-v1/routes.ts';
import { limitToServed } from '../api-v1/scope.ts';
import { accessTokenRoutes } from '../e2b/access-tokens.ts';
import { buildAdminRoutes } from '../e2b/admin/routes.ts';
import type { AdminDeps } from '../e2b/admin/routes.ts';
import { buildUploadRoute } from '../e2b/builds/files/routes.ts';
import { buildTeamKeyRoutes } from '../e2b/keys/routes.ts';
import type { TeamKeysDeps } from '../e2b/keys/team-keys.ts';
import { publicRefusals, refusedRoutes } from '../e2b/refused.ts';
import { buildE2bRoutes } from '../e2b/routes.ts';
import type { E2bDeps } from '../e2b/routes.ts';
import { unsupportedRoutes } from '../e2b/unsupported.ts';
import type { Route } from '../http/route.ts';
import { buildOpenApi } from '../openapi/document.ts';
import { renderDocsPage } from '../openapi/page.ts';

/** Version of the interface, not of the build. */
const INTERFACE_VERSION = '1.0.0';

/** What all operations need together; each of them sees only its own part. */
export type OperationDeps = E2bDeps & ApiV1Deps & TeamKeysDeps & AdminDeps;

/** The OpenAPI document, for generators. No operation runs, so none needs its dependencies. */
export function openApi(): object {
  return buildOpenApi(listDocumentedRoutes(getAbsentDeps()), INTERFACE_VERSION);
}

/** Stands for the dependencies where no handler is called: only handlers use them. */
export function getAbsentDeps(): OperationDeps {
  const absent = new Proxy<Record<string, unknown>>({}, { get: () => absent });
  return absent as unknown as OperationDeps;
}

/**
 * Every operation of the API, for the admin port. Where two paths overlap the first one wins. Unsupported operations answer
 * 501, 410 or 403 and are not part of the OpenAPI document, and neither is the upload, whose URL the API itself makes.
 */
export function listRoutes(deps: OperationDeps): readonly Route[] {
  return [
    buildUploadRoute(deps),
    ...listDocumentedRoutes(deps),
    ...accessTokenRoutes,
    ...refusedRoutes,
    ...unsupportedRoutes,
  ];
}

/** The operations of the public port: all but those of admins, so that a leaked admin key is of no use to strangers. */
export function listPublicRoutes(routes: readonly Route[]): readonly Route[] {
  return [...routes.filter(({ access }) => access !== 'admin'), ...publicRefusals];
}

function listDocumentedRoutes(deps: OperationDeps): readonly Route[] {
  const routes: Route[] = [];
  let document: object | undefined;
  // The document describes the routes that serve it too, so it is built on the first request.
  const openApiDocument = (): object => (document ??= buildOpenApi(routes, INTERFACE_VERSION));
  const docs = { document: openApiDocument, page: () => renderDocsPage(openApiDocument()) };
  routes.push(...limitToServed(buildE2bRoutes(deps), deps.namespaces));
  // An admin's own namespace need not be a served one.
  routes.push(...buildTeamKeyRoutes(deps), ...buildAdminRoutes(deps), ...buildApiV1Routes(deps, docs));
  return routes;
}
