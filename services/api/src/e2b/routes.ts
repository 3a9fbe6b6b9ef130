// The E2B dialect: versions 1 and 2 of each operation side by side (docs/reference/e2b-api.md#routes).
import type { Route } from '../http/route.ts';
import { buildBuildRoutes } from './builds/routes.ts';
import type { BuildRouteDeps } from './builds/routes.ts';
import { buildNetworkRoute } from './egress/replace-egress.ts';
import type { EgressDeps } from './egress/replace-egress.ts';
import { buildSandboxEventRoutes } from './events/routes.ts';
import type { SandboxEventDeps } from './events/routes.ts';
import { buildForkRoute } from './fork/routes.ts';
import type { ForkRouteDeps } from './fork/fork-sandbox.ts';
import { buildLogRoutes } from './logs/routes.ts';
import type { LogDeps } from './logs/routes.ts';
import { buildMetricsRoutes } from './metrics/routes.ts';
import type { MetricsDeps } from './metrics/routes.ts';
import { connectRoutes } from './operations/connect-sandbox.ts';
import type { ConnectDeps } from './operations/connect-sandbox.ts';
import { createRoutes } from './operations/create-routes.ts';
import type { CreateDeps } from './operations/create-sandbox.ts';
import { buildHealthRoute } from './operations/health.ts';
import { killRoute } from './operations/kill-sandbox.ts';
import type { KillDeps } from './operations/kill-sandbox.ts';
import { listRoutes } from './operations/list-sandboxes.ts';
import type { ListDeps } from './operations/list-sandboxes.ts';
import { pauseRoute } from './operations/pause-sandbox.ts';
import type { PauseDeps } from './operations/pause-sandbox.ts';
import { buildTimeoutRoutes } from './operations/set-timeout.ts';
import type { TimeoutDeps } from './operations/set-timeout.ts';
import { buildSecretRoutes } from './secrets/routes.ts';
import type { SecretDeps } from './secrets/routes.ts';
import { buildSnapshotRoutes } from './snapshots/routes.ts';
import type { SnapshotRouteDeps } from './snapshots/routes.ts';
import { buildTeamMetricsRoutes } from './team-metrics/routes.ts';
import type { TeamMetricsDeps } from './team-metrics/routes.ts';
import { buildTeamRoute } from './teams.ts';
import { buildTemplateRoutes } from './templates/routes.ts';
import type { TemplateRouteDeps } from './templates/routes.ts';
import { buildVolumeRoutes } from './volumes/routes.ts';
import type { VolumeRouteDeps } from './volumes/routes.ts';
import { buildWebhookRoutes } from './webhooks/routes.ts';
import type { WebhookDeps } from './webhooks/routes.ts';

/** What the E2B operations need together; each of them sees only its own part. */
export type E2bDeps = CreateDeps &
  ConnectDeps &
  PauseDeps &
  KillDeps &
  TimeoutDeps &
  EgressDeps &
  ListDeps &
  ForkRouteDeps &
  LogDeps &
  MetricsDeps &
  SecretDeps &
  SnapshotRouteDeps &
  BuildRouteDeps &
  TeamMetricsDeps &
  TemplateRouteDeps &
  SandboxEventDeps &
  VolumeRouteDeps &
  WebhookDeps;

export function buildE2bRoutes(deps: E2bDeps): readonly Route[] {
  return [
    ...createRoutes(deps),
    ...connectRoutes(deps),
    pauseRoute(deps),
    killRoute(deps),
    ...buildTimeoutRoutes(deps),
    buildNetworkRoute(deps),
    ...buildMetricsRoutes(deps),
    ...listRoutes(deps),
    ...buildLogRoutes(deps),
    ...buildSnapshotRoutes(deps),
    buildForkRoute(deps),
    ...buildSecretRoutes(deps),
    ...buildBuildRoutes(deps),
    ...buildTemplateRoutes(deps),
    ...buildVolumeRoutes(deps),
    ...buildSandboxEventRoutes(deps),
    ...buildWebhookRoutes(deps),
    buildTeamRoute(),
    ...buildTeamMetricsRoutes(deps),
    buildHealthRoute(),
  ];
}
