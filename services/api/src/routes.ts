import type { Deps } from './wiring/deps.ts';
import { e2bRoutes } from './e2b/routes.ts';
import { unsupportedRoutes } from './e2b/unsupported.ts';
import { docsPage } from './openapi/page.ts';
import { openApiOf } from './openapi/document.ts';
import type { Route } from './http/route.ts';
import { aboutRoutes } from './api-v1/about.ts';
import { claimRoutes } from './api-v1/claims.ts';
import { eventRoutes } from './api-v1/events.ts';
import { keyRoutes } from './api-v1/keys.ts';
import { poolRoutes } from './api-v1/pools.ts';

/** Version of the document: of the interface, not of the build. */
const INTERFACE_VERSION = '1.0.0';

/** The OpenAPI document, without an api behind it: operations are described by what they are made of, and never called. */
export function openApi(): object {
  const absent = new Proxy<Record<string, unknown>>({}, { get: () => absent });
  // Deps is what handlers use when they are called; a proxy stands for it where none ever is.
  return openApiOf(describedRoutes(absent as unknown as Deps), INTERFACE_VERSION);
}

/** Every operation of the api. Earlier ones win where paths overlap: what has a name comes before what has a parameter. */
export function routesOf(deps: Deps): readonly Route[] {
  // What is not built is no part of the interface: its paths answer, and are not described.
  return [...unsupportedRoutes, ...describedRoutes(deps)];
}

function describedRoutes(deps: Deps): readonly Route[] {
  const served: Route[] = [];
  let document: object | undefined;
  const described = (): object => (document ??= openApiOf(served, INTERFACE_VERSION));
  served.push(
    ...e2bRoutes(deps),
    ...poolRoutes(deps),
    ...claimRoutes(deps),
    ...eventRoutes(deps),
    ...keyRoutes(deps),
    ...aboutRoutes(deps, { document: described, page: () => docsPage(described()) }),
  );
  return served;
}
