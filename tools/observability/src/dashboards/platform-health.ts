import type { Dashboard } from './model.ts';
import { select, selectOnce, quantile, quantiles, rate } from './queries.ts';
import { row } from './row.ts';
const WRITES = 'verb=~"create|update|delete|.*[Pp]atch"';

const now = row(
  'Now',
  [
    {
      title: 'Leaders',
      description: 'Leases that are held, of all: one for each controller or shard. Without a holder its keys wait.',
      unit: 'short',
      kind: 'stat',
      width: 4,
      queries: [
        { expr: `count (max by (lease) (${select('sandlot_controller_leader')}) == 1)`, legend: 'held' },
        { expr: `count (max by (lease) (${select('sandlot_controller_leader')}))`, legend: 'all' },
      ],
    },
    {
      title: 'Failing reconciles',
      description: 'Share of reconciles that ended in an error. Conflicts are not errors: the next pass writes again.',
      unit: 'percentunit',
      kind: 'stat',
      width: 4,
      queries: [
        {
          expr: `(${rate('sandlot_reconcile_seconds_count', { where: 'result=~"error|terminal"' })} or vector(0)) / ${rate('sandlot_reconcile_seconds_count')}`,
          legend: 'errors',
        },
      ],
    },
    {
      title: 'API errors',
      description: 'Share of requests to the API server that ended in an error; 404 and 409 are answers, not errors.',
      unit: 'percentunit',
      kind: 'stat',
      width: 4,
      queries: [
        {
          expr: `(${rate('sandlot_kube_request_seconds_count', { where: 'code!~"2xx|404|409"' })} or vector(0)) / ${rate('sandlot_kube_request_seconds_count')}`,
          legend: 'errors',
        },
      ],
    },
    {
      title: 'Oldest event to send',
      description: 'Age of the oldest lifecycle event that is not on NATS yet.',
      unit: 's',
      kind: 'stat',
      width: 4,
      queries: [{ expr: `max (${select('sandlot_outbox_oldest_seconds')})`, legend: 'oldest' }],
    },
    {
      title: 'Dead letters',
      description: 'Events that a consumer gave up. They wait to be looked at and replayed.',
      unit: 'short',
      kind: 'stat',
      width: 4,
      queries: [{ expr: `max (${select('sandlot_outbox_dead_letters')})`, legend: 'dead letters' }],
    },
    {
      title: 'Lateness of deadlines',
      description: 'From a deadline (time-out, shutdown, idle, schedule) to the pass that acts on it, p99.',
      unit: 's',
      kind: 'stat',
      width: 4,
      queries: [{ expr: quantile(0.99, 'sandlot_deadline_lateness_seconds'), legend: 'p99' }],
    },
  ],
  5,
);

const controllers = row('Controllers', [
  {
    title: 'Reconciles',
    description: 'Passes a second by controller and what came of them.',
    unit: 'ops',
    queries: [
      {
        expr: rate('sandlot_reconcile_seconds_count', { by: 'controller, result' }),
        legend: '{{controller}} {{result}}',
      },
    ],
  },
  {
    title: 'Time of a reconcile',
    description: 'p99 of a pass, writes included.',
    unit: 's',
    queries: [{ expr: quantile(0.99, 'sandlot_reconcile_seconds', { by: 'controller' }), legend: '{{controller}}' }],
  },
  {
    title: 'Workers in use',
    description: 'Share of the workers of a controller that are busy. At 100 % keys wait in the queue.',
    unit: 'percentunit',
    limit: 1,
    queries: [
      {
        expr: `sum by (controller) (${select('sandlot_queue_running')}) / sum by (controller) (${select('sandlot_controller_workers')})`,
        legend: '{{controller}}',
      },
    ],
  },
  {
    title: 'Leader',
    description: 'Which process holds each lease. Lines that change places often are a flapping leader.',
    unit: 'short',
    queries: [
      { expr: `max by (lease, instance) (${select('sandlot_controller_leader')})`, legend: '{{lease}} {{instance}}' },
    ],
  },
]);

const queues = row('Work queues', [
  {
    title: 'Keys waiting',
    description: 'Keys in the queue. What stays high is load that the workers do not keep up with.',
    unit: 'short',
    queries: [{ expr: `sum by (controller) (${select('sandlot_queue_depth')})`, legend: '{{controller}}' }],
  },
  {
    title: 'Time in the queue',
    description: 'p99 from a key being added to a worker taking it.',
    unit: 's',
    queries: [{ expr: quantile(0.99, 'sandlot_queue_wait_seconds', { by: 'controller' }), legend: '{{controller}}' }],
  },
  {
    title: 'Work',
    description: 'p99 of the time a key is held by a worker, and the oldest one that is held right now.',
    unit: 's',
    queries: [
      { expr: quantile(0.99, 'sandlot_queue_work_seconds', { by: 'controller' }), legend: 'p99 {{controller}}' },
      {
        expr: `max by (controller) (${select('sandlot_queue_longest_running_seconds')})`,
        legend: 'oldest {{controller}}',
      },
    ],
  },
  {
    title: 'Retries',
    description: 'Keys added again after a failure, with back-off.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_queue_retries_total', { by: 'controller' }), legend: '{{controller}}' }],
  },
]);

const apiServer = row('API server, as seen from here', [
  {
    title: 'Requests',
    description: 'Requests a second by verb, watches apart.',
    unit: 'reqps',
    queries: [{ expr: rate('sandlot_kube_request_seconds_count', { by: 'verb' }), legend: '{{verb}}' }],
  },
  {
    title: 'Answers that are no success',
    description:
      'By code. 409: another writer was faster; 429: the server protects itself; NetworkError: the connection broke.',
    unit: 'reqps',
    queries: [
      { expr: rate('sandlot_kube_request_seconds_count', { by: 'code', where: 'code!="2xx"' }), legend: '{{code}}' },
    ],
  },
  {
    title: 'Time of a write',
    description: 'Patches, creations and deletions, retries included, as the controllers wait for them.',
    unit: 's',
    queries: quantiles('sandlot_kube_request_seconds', WRITES),
  },
  {
    title: 'Writes by resource',
    description: 'What the writes are about. Leases are the leader election; events are Kubernetes Events.',
    unit: 'reqps',
    stacked: true,
    queries: [
      { expr: rate('sandlot_kube_request_seconds_count', { by: 'resource', where: WRITES }), legend: '{{resource}}' },
    ],
  },
  {
    title: 'Requests repeated',
    description: 'Requests sent again after an answer or a failure that allows it.',
    unit: 'reqps',
    queries: [{ expr: rate('sandlot_kube_request_retries_total', { by: 'verb, code' }), legend: '{{verb}} {{code}}' }],
  },
  {
    title: 'Waiting for our own limit',
    description:
      'Seconds that requests spent waiting for the rate limit of their process, in each second, by priority.',
    unit: 's',
    queries: [{ expr: rate('sandlot_kube_request_throttle_seconds_sum', { by: 'priority' }), legend: '{{priority}}' }],
  },
  {
    title: 'Connections and streams',
    description: 'Open HTTP/2 connections, and requests and watches in flight on them, by lane.',
    unit: 'short',
    queries: [
      { expr: `sum by (lane) (${select('sandlot_kube_sessions')})`, legend: '{{lane}} connections' },
      { expr: `sum by (lane) (${select('sandlot_kube_streams')})`, legend: '{{lane}} streams' },
    ],
  },
  {
    title: 'Round trip',
    description: 'HTTP/2 pings: the network and the server without its work.',
    unit: 's',
    queries: quantiles('sandlot_kube_ping_seconds'),
  },
]);

const caches = row('Caches', [
  {
    title: 'Silence of watches',
    description: 'Time since a watch last delivered anything. A healthy one receives a bookmark every minute.',
    unit: 's',
    limit: 300,
    queries: [{ expr: `max by (resource) (${select('sandlot_kube_last_event_age_seconds')})`, legend: '{{resource}}' }],
  },
  {
    title: 'Lists',
    description:
      'Full lists made by reflectors, in the last while. Each costs the server as much as thousands of events.',
    unit: 'short',
    queries: [
      {
        expr: `sum by (resource, reason) (increase(${select('sandlot_kube_relists_total')}[$__rate_interval]))`,
        legend: '{{resource}} {{reason}}',
      },
    ],
  },
  {
    title: 'Watch events',
    description: 'Events received a second, by resource.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_kube_watch_events_total', { by: 'resource' }), legend: '{{resource}}' }],
  },
  {
    title: 'Objects in memory',
    description: 'Objects in the caches of all chosen processes.',
    unit: 'short',
    queries: [{ expr: `sum by (resource) (${select('sandlot_kube_informer_objects')})`, legend: '{{resource}}' }],
  },
  {
    title: 'What went wrong inside',
    description:
      'Handlers that threw, expectations that no watch event confirmed, Kubernetes Events that were not written, spans that were lost.',
    unit: 'ops',
    width: 24,
    queries: [
      { expr: rate('sandlot_kube_handler_failures_total', { by: 'resource' }), legend: 'handler {{resource}}' },
      { expr: rate('sandlot_controller_expectations_expired_total', { by: 'kind' }), legend: 'expectation {{kind}}' },
      { expr: rate('sandlot_kube_events_dropped_total', { by: 'reason' }), legend: 'event {{reason}}' },
      { expr: rate('sandlot_telemetry_spans_lost_total', { by: 'reason' }), legend: 'spans {{reason}}' },
    ],
  },
]);

const bus = row('Bus', [
  {
    title: 'NATS reachable',
    description: '1 while a process is connected. Claims do not need NATS; events wait for it.',
    unit: 'short',
    queries: [{ expr: `min by (job) (${select('sandlot_bus_connected')})`, legend: '{{job}}' }],
  },
  {
    title: 'Events published',
    description: 'Lifecycle events by what came of one try to send them.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_outbox_published_total', { by: 'outcome' }), legend: '{{outcome}}' }],
  },
  {
    title: 'Events to send',
    description: 'Events in the outbox that no server has acknowledged, and the age of the oldest.',
    unit: 'short',
    queries: [{ expr: `sum by (job) (${select('sandlot_outbox_pending_events')})`, legend: '{{job}}' }],
  },
  {
    title: 'Hints received',
    description: 'Messages from other controllers that save waiting for the watch, by what was made of them.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_bus_hints_total', { by: 'type, outcome' }), legend: '{{type}} {{outcome}}' }],
  },
]);

const jobs = row('Deadlines and jobs', [
  {
    title: 'Lateness',
    description: 'From a deadline to the begin of the pass that acts on it, p99 by purpose.',
    unit: 's',
    queries: [{ expr: quantile(0.99, 'sandlot_deadline_lateness_seconds', { by: 'purpose' }), legend: '{{purpose}}' }],
  },
  {
    title: 'Jobs fired',
    description: 'Jobs whose time had come. stale: for an object that had changed or gone meanwhile.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_deadlines_fired_total', { by: 'fate' }), legend: '{{fate}}' }],
  },
  {
    title: 'Deadlines to come',
    description:
      'By who holds them. timer alone: Redis does not have them, and a restart derives them again from the objects.',
    unit: 'short',
    queries: [{ expr: `sum by (held_by) (${select('sandlot_deadlines_pending')})`, legend: '{{held_by}}' }],
  },
  {
    title: 'Audits and Redis',
    description: 'Deadlines found without a job and jobs without a deadline, a second; and whether Redis is reachable.',
    unit: 'short',
    queries: [
      { expr: rate('sandlot_deadlines_audit_missing_total'), legend: 'missing' },
      { expr: rate('sandlot_deadlines_audit_orphaned_total'), legend: 'orphaned' },
      { expr: `min by (job) (${select('sandlot_deadlines_connected')})`, legend: 'Redis {{job}}' },
    ],
  },
]);

const sandboxes = row('Sandboxes', [
  {
    title: 'Population',
    description: 'Sandboxes by readiness and owner.',
    unit: 'short',
    stacked: true,
    queries: [
      {
        expr: `sum by (ready_condition, owned_by) (${selectOnce('agent_sandboxes')})`,
        legend: '{{owned_by}} ready={{ready_condition}}',
      },
    ],
  },
  {
    title: 'Suspend, resume and wake',
    description: 'p95 from the wish to its end.',
    unit: 's',
    queries: [
      { expr: quantile(0.95, 'sandlot_sandbox_suspend_seconds'), legend: 'suspend' },
      { expr: quantile(0.95, 'sandlot_sandbox_resume_seconds'), legend: 'resume' },
    ],
  },
  {
    title: 'Requests to wake',
    description: 'By their answer; all but resumed are refusals.',
    unit: 'ops',
    queries: [{ expr: rate('sandlot_sandbox_wake_requests_total', { by: 'answer' }), legend: '{{answer}}' }],
  },
  {
    title: 'Ends and restarts',
    description: 'Sandboxes that are gone, by what ended them, and pods replaced because they had ended.',
    unit: 'ops',
    queries: [
      { expr: rate('sandlot_sandbox_deleted_total', { by: 'cause' }), legend: 'deleted: {{cause}}' },
      { expr: rate('sandlot_sandbox_pod_restarts_total'), legend: 'pod restarts' },
    ],
  },
]);

const processes = row('Processes', [
  {
    title: 'CPU',
    description: 'Cores used by each process.',
    unit: 'cores',
    queries: [{ expr: rate('process_cpu_seconds_total', { by: 'job, instance' }), legend: '{{job}} {{instance}}' }],
  },
  {
    title: 'Memory',
    description: 'Resident memory of each process. Caches grow with the number of objects.',
    unit: 'bytes',
    queries: [
      { expr: `max by (job, instance) (${select('process_resident_memory_bytes')})`, legend: '{{job}} {{instance}}' },
    ],
  },
  {
    title: 'Event loop lag',
    description: 'p99 of the delay of a timer. Above some 100 ms the process is too busy to be on time.',
    unit: 's',
    limit: 0.1,
    queries: [
      {
        expr: `max by (job, instance) (${select('nodejs_eventloop_lag_p99_seconds')})`,
        legend: '{{job}} {{instance}}',
      },
    ],
  },
  {
    title: 'Builds',
    description: 'Processes by the version they run. Two versions for long are a rollout that is stuck.',
    unit: 'short',
    queries: [
      {
        expr: `count by (git_version, job) (${select('agent_sandbox_build_info')})`,
        legend: '{{job}} {{git_version}}',
      },
    ],
  },
]);

export const platformHealth: Dashboard = {
  uid: 'sandlot-platform-health',
  title: 'Sandlot / Platform health',
  description: 'Controllers, work queues, the API server as seen from here, the bus, and the deadlines.',
  variables: [],
  rows: [now, controllers, queues, apiServer, caches, bus, jobs, sandboxes, processes],
};
