import type { Dashboard, Panel } from './model.ts';
import { mean, select, quantile, quantiles, rate, share } from './queries.ts';

const READY = 'sandlot_claim_ready_seconds';
const BY_TEMPLATE = 'template=~"$template"';

/** Objectives of the alerts: the share of claims that should be Ready within so many seconds. */
export const objectives = {
  warm: { seconds: 0.25, share: 0.99 },
  cold: { seconds: 10, share: 0.95 },
} as const;

type LaunchType = keyof typeof objectives;

const served = (launch: LaunchType): string => `launch_type="${launch}",${BY_TEMPLATE}`;

function buildObjectivePanel(launch: LaunchType): Panel {
  const { seconds, share: wanted } = objectives[launch];
  return {
    title: `${launch === 'warm' ? 'Warm' : 'Cold'} claims within ${seconds} s`,
    description: `Share of ${launch} claims that were Ready within ${seconds} s of being seen. The objective is ${wanted * 100} %.`,
    unit: 'percentunit',
    kind: 'stat',
    width: 4,
    limit: wanted,
    queries: [{ expr: share(READY, { le: seconds, where: served(launch) }), legend: launch }],
  };
}

function buildLatency(launch: LaunchType): Panel {
  return {
    title: `Time to Ready, ${launch}`,
    description:
      'From the controller first seeing a claim to its first Ready. Each point is one claim with its trace: open it to see where that claim spent its time.',
    unit: 's',
    width: 12,
    limit: objectives[launch].seconds,
    queries: quantiles(READY, served(launch)),
  };
}

function buildHeatmap(launch: LaunchType): Panel {
  return {
    title: `Distribution, ${launch}`,
    description: 'How many claims took how long. Two bands mean two kinds of claims: look at templates and phases.',
    unit: 's',
    kind: 'heatmap',
    width: 12,
    queries: [
      { expr: rate(`${READY}_bucket`, { by: 'le', where: served(launch) }), legend: '{{le}}', exemplars: true },
    ],
  };
}

function buildPhases(launch: LaunchType): Panel {
  return {
    title: `Where the time goes, ${launch}`,
    description:
      'Mean time in each phase; together they are the mean time to Ready. queue: until a worker takes the claim up; stock: until there is something to try; commit: until the Sandbox is its own; publish: until its status says so; start: until Ready.',
    unit: 's',
    width: 12,
    stacked: true,
    queries: [
      {
        expr: mean('sandlot_claim_phase_seconds', { by: 'phase', where: `launch_type="${launch}"` }),
        legend: '{{phase}}',
      },
    ],
  };
}

export const creationLatency: Dashboard = {
  uid: 'sandlot-creation-latency',
  title: 'Sandlot / Creation latency',
  description: 'How long claims wait for a Ready sandbox, and where that time goes.',
  variables: [{ name: 'template', label: 'Template', query: `label_values(${READY}_count, template)` }],
  rows: [
    {
      title: 'Objectives',
      height: 5,
      panels: [
        buildObjectivePanel('warm'),
        buildObjectivePanel('cold'),
        {
          title: 'Served from stock',
          description: 'Share of claims a pool could serve that took a warm sandbox at once.',
          unit: 'percentunit',
          kind: 'stat',
          width: 4,
          queries: [
            {
              expr: `${rate('sandlot_warmpool_claims_total', { where: 'outcome="hit"' })} / ${rate('sandlot_warmpool_claims_total')}`,
              legend: 'hit ratio',
            },
          ],
        },
        {
          title: 'Claims waiting',
          description: 'Claims that are neither Ready nor Failed right now. They are in no latency below yet.',
          unit: 'short',
          kind: 'stat',
          width: 4,
          queries: [{ expr: `max (${select('sandlot_claims_waiting')})`, legend: 'waiting' }],
        },
        {
          title: 'Longest wait',
          description: 'How long the claim that has waited longest has been waiting.',
          unit: 's',
          kind: 'stat',
          width: 4,
          queries: [{ expr: `max (${select('sandlot_claims_waiting_oldest_seconds')})`, legend: 'oldest' }],
        },
        {
          title: 'API writes per claim',
          description:
            'Writes of all controllers to the API server, leases and Kubernetes Events apart, for each claim served: what serves it, what refills its pool, and what ends sandboxes meanwhile.',
          unit: 'short',
          kind: 'stat',
          width: 4,
          queries: [
            {
              expr: `${rate('sandlot_kube_request_seconds_count', { where: 'verb=~"create|update|delete|.*[Pp]atch",resource!~"(leases|events)([.].*)?"' })} / ${rate('agent_sandbox_claim_creation_total')}`,
              legend: 'writes per claim',
            },
          ],
        },
      ],
    },
    {
      title: 'Time to Ready',
      height: 9,
      panels: [buildLatency('warm'), buildLatency('cold'), buildHeatmap('warm'), buildHeatmap('cold')],
    },
    { title: 'By phase', height: 9, panels: [buildPhases('warm'), buildPhases('cold')] },
    {
      title: 'Inside a cold start',
      height: 8,
      panels: [
        {
          title: 'First start of a claimed sandbox',
          description:
            'Mean time in each phase of a sandbox made for a claim. create: until its pod is there; schedule: until it has a node; start: disks, images, containers; ready: probes; publish: until its status says so.',
          unit: 's',
          width: 8,
          stacked: true,
          queries: [
            {
              expr: mean('sandlot_sandbox_phase_seconds', { by: 'phase', where: 'owner="claim"' }),
              legend: '{{phase}}',
            },
          ],
        },
        {
          title: 'Disks',
          description:
            'From a PersistentVolumeClaim to its volume. A cold start with disks waits for the slowest of them.',
          unit: 's',
          width: 8,
          queries: quantiles('sandlot_pvc_provision_seconds'),
        },
        {
          title: 'Creation to Ready of any sandbox',
          description:
            'Claimed, pooled or authored directly, under the metric name of agent-sandbox, in whole seconds of the objects.',
          unit: 'ms',
          width: 8,
          queries: [
            {
              expr: quantile(0.95, 'agent_sandbox_creation_latency_ms', { by: 'launch_type' }),
              legend: 'p95 {{launch_type}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Who waits',
      height: 8,
      panels: [
        {
          title: 'p95 by template',
          description:
            'Time to Ready by template and launch type. One slow template is its image or its probes; all of them are the platform.',
          unit: 's',
          width: 12,
          queries: [
            {
              expr: quantile(0.95, READY, { by: 'template, launch_type', where: BY_TEMPLATE }),
              legend: '{{template}} {{launch_type}}',
              exemplars: true,
            },
          ],
        },
        {
          title: 'Claims served',
          description: 'Claims that became Ready, by template and launch type.',
          unit: 'ops',
          width: 6,
          queries: [
            {
              expr: rate(`${READY}_count`, { by: 'template, launch_type', where: BY_TEMPLATE }),
              legend: '{{template}} {{launch_type}}',
            },
          ],
        },
        {
          title: 'Claims failed',
          description: 'Claims that failed for good, by the reason in their Ready condition.',
          unit: 'ops',
          width: 6,
          queries: [{ expr: `${rate('sandlot_claims_failed_total', { by: 'reason' })} > 0`, legend: '{{reason}}' }],
        },
      ],
    },
    {
      title: 'Contention',
      height: 8,
      panels: [
        {
          title: 'Time to bind',
          description:
            'From first seeing a claim to its status naming a sandbox, p99: what the controllers themselves take.',
          unit: 's',
          width: 8,
          queries: [
            {
              expr: quantile(0.99, 'sandlot_claim_bind_seconds', { by: 'path' }),
              legend: 'p99 {{path}}',
              exemplars: true,
            },
          ],
        },
        {
          title: 'Adoptions',
          description:
            'Guarded writes of warm sandboxes. lost and busy are conflicts: another claim or a status update was faster.',
          unit: 'ops',
          width: 8,
          queries: [{ expr: rate('sandlot_adoption_attempts_total', { by: 'result' }), legend: '{{result}}' }],
        },
        {
          title: 'Reconciles per claim',
          description:
            'Passes of each controller for each claim served. More than usual means that something writes too often.',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: `${rate('sandlot_reconcile_seconds_count', { by: 'controller' })} / on () group_left () ${rate('agent_sandbox_claim_creation_total')}`,
              legend: '{{controller}}',
            },
          ],
        },
      ],
    },
  ],
};
