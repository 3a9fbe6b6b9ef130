import type { Deps } from './deps.ts';
import { e2bRoutes } from './e2b/routes.ts';
import { unsupportedRoutes } from './e2b/unsupported.ts';
import { docsPage } from './http/docs-page.ts';
import { openApiOf } from './http/openapi.ts';
import type { Route } from './http/route.ts';
import { aboutRoutes } from './own/about.ts';
import { claimRoutes } from './own/claims.ts';
import { eventRoutes } from './own/events.ts';
import { keyRoutes } from './own/keys.ts';
import { poolRoutes } from './own/pools.ts';

/** Version of the document: of the interface, not of the build. */
const INTERFACE_VERSION = '1.0.0';

/** Every operation of the api. Earlier ones win where paths overlap: what has a name comes before what has a parameter. */
export function routesOf(deps: Deps): readonly Route[] {
  const served: Route[] = [];
  let document: object | undefined;
  const described = (): object => (document ??= openApiOf(served, INTERFACE_VERSION));
  served.push(
    ...unsupportedRoutes,
    ...e2bRoutes(deps),
    ...poolRoutes(deps),
    ...claimRoutes(deps),
    ...eventRoutes(deps),
    ...keyRoutes(deps),
    ...aboutRoutes(deps, { document: described, page: () => docsPage(described()) }),
  );
  return served;
}
