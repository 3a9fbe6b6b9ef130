// Sandlot's own REST API, under /api/v1.
import type { Route } from '../http/route.ts';
import { buildAboutRoutes } from './about.ts';
import type { AboutDeps, Docs } from './about.ts';
import { claimRoutes } from './claims.ts';
import type { ClaimDeps } from './claims.ts';
import { buildEventRoutes } from './events.ts';
import type { EventDeps } from './events.ts';
import { buildKeyRoutes } from './keys.ts';
import type { KeyDeps } from './keys.ts';
import { buildPreviewRoutes } from './previews.ts';
import type { PreviewDeps } from './previews.ts';
import { buildPoolRoutes } from './pools.ts';
import type { PoolDeps } from './pools.ts';
import { buildUsageRoutes } from './usage.ts';
import type { UsageRouteDeps } from './usage.ts';
import { limitToServed } from './scope.ts';

/** What the operations under /api/v1 need together; each of them sees only its own part. */
export type ApiV1Deps = PoolDeps & ClaimDeps & PreviewDeps & EventDeps & UsageRouteDeps & KeyDeps & AboutDeps;

export function buildApiV1Routes(deps: ApiV1Deps, docs: Docs): readonly Route[] {
  const ofNamespaces = [
    ...buildPoolRoutes(deps),
    ...claimRoutes(deps),
    ...buildPreviewRoutes(deps),
    ...buildEventRoutes(deps),
    ...buildUsageRoutes(deps),
  ];
  return [
    ...limitToServed(ofNamespaces, deps.namespaces),
    // Admins may manage the keys, whatever namespace their own key is for.
    ...buildKeyRoutes(deps),
    ...buildAboutRoutes(deps, docs),
  ];
}
