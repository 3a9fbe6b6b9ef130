import type { Table } from '../../model.ts';

const MEASURE = 'services/claim-controller/src/telemetry/measure.test.ts';
const CLAIMS = [MEASURE, 'give the latency of a warm claim from each known starting point, in milliseconds'] as const;
const SANDBOXES = 'services/sandbox-controller/src/telemetry/metrics.test.ts';
const ROUTER = [
  'services/gateway/src/telemetry/router-metrics.integration.test.ts',
  'count requests by method, code and the namespace of the sandbox, never by what a client made up',
] as const;

export const metrics: Table = {
  title: 'Metrics of the controllers',
  what: 'metric',
  items: [
    ['agent_sandbox_claim_startup_latency_ms', 'yes', [MEASURE, 'give the latency from the first sight by a webhook']],
    ['agent_sandbox_claim_controller_startup_latency_ms', 'yes', CLAIMS],
    ['agent_sandbox_client_claim_startup_latency_ms', 'yes', CLAIMS],
    ['agent_sandbox_creation_latency_ms', 'yes', [SANDBOXES, 'measure from creation to the first Ready']],
    ['agent_sandbox_claim_creation_total', 'yes', CLAIMS],
    ['agent_sandboxes', 'yes', [SANDBOXES, 'count Sandboxes by state without a list']],
    [
      'agent_sandbox_build_info',
      'partly',
      [
        'libs/telemetry/src/servers/servers.test.ts',
        'serves build information, the process, the bus and lost spans from the first scrape',
      ],
      '`go_version` holds the version of Node.js',
    ],
    ['agent_sandbox_suspend_total', 'no', '`sandlot_sandbox_suspend_seconds_count` counts what was completed'],
    ['agent_sandbox_suspend_latency_ms', 'no', '`sandlot_sandbox_suspend_seconds` has the time'],
    ['agent_sandbox_resume_total', 'no', '`sandlot_sandbox_resume_seconds_count` counts what was completed'],
    ['agent_sandbox_resume_latency_ms', 'no', '`sandlot_sandbox_resume_seconds` has the time'],
    ['agent_sandbox_finished_total', 'no', 'the lifecycle events have each end'],
    ['agent_sandbox_expired_total', 'no', '`sandlot_sandbox_deleted_total` counts deletions by expiry'],
    ['agent_sandbox_warmpool_size', 'no', '`sandlot_warmpool_members` has the members by state'],
  ],
};

export const routerMetrics: Table = {
  title: 'Metrics of the router',
  what: 'metric',
  items: [
    ['sandbox_router_requests_total', 'yes', ROUTER],
    ['sandbox_router_request_duration_seconds', 'partly', ROUTER, 'a duration ends with the head of the answer'],
    ['sandbox_router_inflight_requests', 'yes', ROUTER],
  ],
};
