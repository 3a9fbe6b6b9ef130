import type { Dashboard } from './model.ts';
import { select, quantile, quantiles, rate } from './queries.ts';
import { row } from './row.ts';

const API = 'sandlot_api_request_seconds';
const GATEWAY = 'sandlot_gateway_request_seconds';
const CREATE = 'route=~"(/v2)?/sandboxes",method="POST"';
const FAILED = 'code=~"5..",code!="501"';
/** Refusals that are the fault of the gateway or of the sandbox, not of the client. */
const BROKEN = 'reason=~"no-answer|late|unsure|timeout"';

const share = (part: string, whole: string): string => `(${part} or vector(0)) / ${whole}`;

const now = row(
  'Now',
  [
    {
      title: 'Creates',
      description: 'Sandboxes that callers of the API were given, a second.',
      unit: 'ops',
      kind: 'stat',
      width: 4,
      queries: [{ expr: rate('sandlot_api_creates_total', { where: 'outcome="created"' }), legend: 'created' }],
    },
    {
      title: 'Create, p99',
      description: 'From the request of a create to its answer: the sandbox runs and its daemon answers by then.',
      unit: 's',
      kind: 'stat',
      width: 4,
      queries: [{ expr: quantile(0.99, API, { where: `${CREATE},code="201"` }), legend: 'p99' }],
    },
    {
      title: 'API failures',
      description: 'Share of requests that the API answered by 5xx, what is not built (501) apart.',
      unit: 'percentunit',
      kind: 'stat',
      width: 4,
      queries: [{ expr: share(rate(`${API}_count`, { where: FAILED }), rate(`${API}_count`)), legend: 'failed' }],
    },
    {
      title: 'Gateway failures',
      description: 'Share of requests that the gateway could not bring to their sandbox in time, or could not place.',
      unit: 'percentunit',
      kind: 'stat',
      width: 4,
      queries: [
        {
          expr: share(rate('sandlot_gateway_refusals_total', { where: BROKEN }), rate(`${GATEWAY}_count`)),
          legend: 'failed',
        },
      ],
    },
    {
      title: 'Held',
      description: 'Requests that wait for their sandbox to wake or to start.',
      unit: 'short',
      kind: 'stat',
      width: 4,
      queries: [{ expr: `sum (${select('sandlot_gateway_held_requests')})`, legend: 'held' }],
    },
    {
      title: 'Connections',
      description: 'Open connections of clients to all gateways.',
      unit: 'short',
      kind: 'stat',
      width: 4,
      queries: [{ expr: `sum (${select('sandlot_gateway_client_connections')})`, legend: 'open' }],
    },
  ],
  5,
);

const creates = row('Creates over the API', [
  {
    title: 'Time of a create',
    description: 'Creates that gave a sandbox, by quantile. Points are single creates with their trace.',
    unit: 's',
    queries: quantiles(API, `${CREATE},code="201"`),
  },
  {
    title: 'Creates by route and answer',
    description: 'Requests for a sandbox a second. Version 1 of the route is what older clients call.',
    unit: 'ops',
    queries: [{ expr: rate(`${API}_count`, { by: 'route, code', where: CREATE }), legend: '{{route}} {{code}}' }],
  },
  {
    title: 'What became of creates',
    description:
      'replayed: a repetition by its Idempotency-Key. limited: beyond quota or rate of the key. no_stock and timeout: the pools are too small, or slow.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_api_creates_total', { by: 'outcome' }), legend: '{{outcome}}' }],
  },
  {
    title: 'Turned away by quota',
    description: 'Requests answered by 429 a second, by route.',
    unit: 'ops',
    queries: [{ expr: rate(`${API}_count`, { by: 'route', where: 'code="429"' }), legend: '{{route}}' }],
  },
]);

const api = row('API', [
  {
    title: 'Requests',
    description: 'A second, by route.',
    unit: 'reqps',
    queries: [{ expr: rate(`${API}_count`, { by: 'method, route' }), legend: '{{method}} {{route}}' }],
  },
  {
    title: 'Answers',
    description: 'A second, by status.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: rate(`${API}_count`, { by: 'code' }), legend: '{{code}}' }],
  },
  {
    title: 'Time of a request',
    description: 'p99 by route. Creates, pauses and resumes wait for a sandbox, everything else does not.',
    unit: 's',
    queries: [{ expr: quantile(0.99, API, { by: 'method, route' }), legend: '{{method}} {{route}}' }],
  },
  {
    title: 'Failures',
    description: 'Answers of 5xx a second by route, what is not built (501) apart.',
    unit: 'reqps',
    queries: [{ expr: rate(`${API}_count`, { by: 'route, code', where: FAILED }), legend: '{{route}} {{code}}' }],
  },
]);

const gateway = row('Gateway', [
  {
    title: 'Requests',
    description: 'A second, by how they name their sandbox; control: for the API.',
    unit: 'reqps',
    queries: [{ expr: rate(`${GATEWAY}_count`, { by: 'route, code' }), legend: '{{route}} {{code}}' }],
  },
  {
    title: 'Time to an answer',
    description: 'From the head of a request to the head of its answer, p99. The sandbox is part of it, and its wake.',
    unit: 's',
    queries: [{ expr: quantile(0.99, GATEWAY, { by: 'route' }), legend: '{{route}}' }],
  },
  {
    title: 'Refusals',
    description:
      'Requests that the gateway answered itself, a second. gone and port-closed are about the sandbox; no-answer, late, unsure, timeout and stopping are about us.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: rate('sandlot_gateway_refusals_total', { by: 'reason' }), legend: '{{reason}}' }],
  },
  {
    title: 'Questions to the API server',
    description: 'About sandboxes that the watches did not know. Many that are missing: a client tries ids.',
    unit: 'reqps',
    queries: [{ expr: rate('sandlot_gateway_lookups_total', { by: 'result' }), legend: '{{result}}' }],
  },
]);

const wakes = row('Wakes', [
  {
    title: 'Wait for a sandbox',
    description: 'How long requests were held that were then passed on.',
    unit: 's',
    queries: quantiles('sandlot_gateway_wake_seconds', 'outcome="go"'),
  },
  {
    title: 'How waits ended',
    description: 'go: passed on. gone: the sandbox ended. late: the hold time was over. left: the client went.',
    unit: 'reqps',
    stacked: true,
    queries: [{ expr: rate('sandlot_gateway_wake_seconds_count', { by: 'outcome' }), legend: '{{outcome}}' }],
  },
  {
    title: 'Requests held',
    description: 'At this moment, by gateway. Beyond gateway.hold.max they are turned away.',
    unit: 'short',
    queries: [{ expr: `sum by (instance) (${select('sandlot_gateway_held_requests')})`, legend: '{{instance}}' }],
  },
  {
    title: 'Wishes to wake',
    description:
      'As the sandbox-controller answered them. never and owner: the user who suspended the sandbox does not want it to wake.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_sandbox_wake_requests_total', { by: 'answer' }), legend: '{{answer}}' }],
  },
]);

const connections = row('Connections, daemons, processes', [
  {
    title: 'Connections and streams',
    description: 'Open at this moment: connections of clients, requests that go on with sandboxes, WebSockets.',
    unit: 'short',
    queries: [
      { expr: `sum (${select('sandlot_gateway_client_connections')})`, legend: 'connections' },
      { expr: `sum (${select('sandlot_gateway_open_requests')})`, legend: 'requests' },
      { expr: `sum (${select('sandlot_gateway_websockets')})`, legend: 'WebSockets' },
      { expr: `sum (${select('sandlot_gateway_sandboxes')})`, legend: 'sandboxes' },
    ],
  },
  {
    title: 'Bytes',
    description: 'To and from sandboxes through all gateways, a second.',
    unit: 'binBps',
    queries: [{ expr: rate('sandlot_gateway_bytes_total', { by: 'direction' }), legend: '{{direction}}' }],
  },
  {
    title: 'Initialised daemons',
    width: 4,
    description: 'Signed calls to daemons in sandboxes a second, by what came of them.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_runtime_init_seconds_count', { by: 'result' }), legend: '{{result}}' }],
  },
  {
    title: 'Memory',
    width: 4,
    description: 'Resident memory of APIs and gateways.',
    unit: 'bytes',
    queries: [
      {
        expr: `max by (job, instance) (${select('process_resident_memory_bytes', 'job=~".*(api|gateway)"')})`,
        legend: '{{job}} {{instance}}',
      },
    ],
  },
  {
    title: 'CPU',
    width: 4,
    description: 'Cores that APIs and gateways use.',
    unit: 'cores',
    queries: [
      {
        expr: rate('process_cpu_seconds_total', { by: 'job, instance', where: 'job=~".*(api|gateway)"' }),
        legend: '{{job}} {{instance}}',
      },
    ],
  },
]);

const usage = row('Usage', [
  {
    title: 'Running sandboxes by namespace',
    width: 12,
    description:
      'Seconds that claimed sandboxes have run, a second. The ledger of usage counts them, also after a restart.',
    unit: 'short',
    queries: [{ expr: rate('sandlot_usage_sandbox_seconds_total', { by: 'namespace' }), legend: '{{namespace}}' }],
  },
  {
    title: 'Requested CPUs by namespace',
    width: 6,
    description: 'CPUs that the containers of running sandboxes request.',
    unit: 'cores',
    queries: [{ expr: rate('sandlot_usage_cpu_seconds_total', { by: 'namespace' }), legend: '{{namespace}}' }],
  },
  {
    title: 'Requested memory by namespace',
    width: 6,
    description: 'Memory that the containers of running sandboxes request, in GiB.',
    unit: 'short',
    queries: [
      {
        expr: `3600 * (${rate('sandlot_usage_memory_gib_hours_total', { by: 'namespace' })})`,
        legend: '{{namespace}}',
      },
    ],
  },
]);

/** The page about the parts that tenants use: the API and the gateway. */
export const tenantDoor: Dashboard = {
  uid: 'sandlot-tenant-door',
  title: 'Sandlot / Tenant door',
  description: 'What callers of the API and of sandboxes get, how fast, and what is refused.',
  variables: [],
  rows: [now, creates, api, gateway, wakes, connections, usage],
};
