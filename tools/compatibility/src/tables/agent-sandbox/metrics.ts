import type { Table } from '../../model.ts';

const MEASURE = 'services/claim-controller/src/telemetry/measure.test.ts';
const CLAIMS = [MEASURE, 'give the latency of a warm claim from each known starting point, in milliseconds'] as const;
const SANDBOXES = 'services/sandbox-controller/src/telemetry/metrics.test.ts';
const ROUTER = [
  'services/gateway/src/telemetry/router-metrics.integration.test.ts',
  'count requests by method, code and the namespace of the sandbox, never by what a client made up',
] as const;

const UPSTREAM = 'services/sandbox-controller/src/telemetry/upstream-metrics.test.ts';
const MODES = [UPSTREAM, 'count each %s when it is asked for and when it is over, and its milliseconds'] as const;

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
    ['agent_sandbox_suspend_total', 'partly', MODES, 'never has the result `error`'],
    ['agent_sandbox_suspend_latency_ms', 'yes', MODES],
    ['agent_sandbox_resume_total', 'partly', MODES, 'never has the result `error`'],
    ['agent_sandbox_resume_latency_ms', 'yes', MODES],
    ['agent_sandbox_finished_total', 'yes', [UPSTREAM, 'count a Pod that ended once, with the reason %s']],
    ['agent_sandbox_expired_total', 'yes', [UPSTREAM, 'count an expiry once, with the policy %s']],
    [
      'agent_sandbox_warmpool_size',
      'partly',
      [
        'services/warmpool-controller/src/telemetry/pool-metrics.test.ts',
        'show its members under the name of agent-sandbox too, from the leader only',
      ],
      'has the states `ready` and `pending`: a member whose Pod has ended is replaced',
    ],
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
