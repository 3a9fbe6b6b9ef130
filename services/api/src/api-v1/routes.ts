// Sandlot's own REST API, under /api/v1.
import type { Route } from '../http/route.ts';
import { aboutRoutes } from './about.ts';
import type { AboutDeps, Docs } from './about.ts';
import { claimRoutes } from './claims.ts';
import type { ClaimDeps } from './claims.ts';
import { eventRoutes } from './events.ts';
import type { EventDeps } from './events.ts';
import { keyRoutes } from './keys.ts';
import type { KeyDeps } from './keys.ts';
import { poolRoutes } from './pools.ts';
import type { PoolDeps } from './pools.ts';

/** What the operations under /api/v1 need together; each of them sees only its own part. */
export type ApiV1Deps = PoolDeps & ClaimDeps & EventDeps & KeyDeps & AboutDeps;

export function apiV1Routes(deps: ApiV1Deps, docs: Docs): readonly Route[] {
  return [
    ...poolRoutes(deps),
    ...claimRoutes(deps),
    ...eventRoutes(deps),
    ...keyRoutes(deps),
    ...aboutRoutes(deps, docs),
  ];
}
