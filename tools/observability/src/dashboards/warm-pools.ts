import type { Dashboard, Panel } from './model.ts';
import { mean, select, selectOnce, quantiles, rate } from './queries.ts';

const CHOSEN = 'namespace=~"$namespace",pool=~"$pool"';
const POOL = 'namespace, pool';
const LEGEND = '{{namespace}}/{{pool}}';

const gauge = (name: string, own = ''): string =>
  selectOnce(`sandlot_warmpool_${name}`, own === '' ? CHOSEN : `${CHOSEN},${own}`);
const byPool = (name: string, own = ''): string => `sum by (${POOL}) (${gauge(name, own)})`;
const stat = (panel: Omit<Panel, 'kind' | 'width'>): Panel => ({ ...panel, kind: 'stat', width: 4 });

export const warmPools: Dashboard = {
  uid: 'sandlot-warm-pools',
  title: 'Sandlot / Warm pools',
  description: 'Stock, depletion and refill of warm pools, and what idle stock costs.',
  variables: [
    { name: 'namespace', label: 'Namespace', query: 'label_values(sandlot_warmpool_target, namespace)' },
    { name: 'pool', label: 'Pool', query: 'label_values(sandlot_warmpool_target{namespace=~"$namespace"}, pool)' },
  ],
  rows: [
    {
      title: 'Now',
      height: 5,
      panels: [
        stat({
          title: 'Ready of wanted',
          description: 'Ready members of all chosen pools, of those they want.',
          unit: 'percentunit',
          limit: 0.5,
          queries: [
            { expr: `sum (${gauge('members', 'state=~"ready|stale"')}) / sum (${gauge('target')})`, legend: 'stock' },
          ],
        }),
        stat({
          title: 'Empty pools',
          description: 'Pools that want members and have none that is Ready: the next claim starts cold or waits.',
          unit: 'short',
          queries: [
            {
              expr: `sum ((${byPool('members', 'state=~"ready|stale"')} == bool 0) * (${byPool('target')} > bool 0))`,
              legend: 'empty',
            },
          ],
        }),
        stat({
          title: 'Stuck members',
          description: 'Members not Ready past the grace of their pool.',
          unit: 'short',
          queries: [{ expr: `sum (${gauge('members', 'state="stuck"')})`, legend: 'stuck' }],
        }),
        stat({
          title: 'Hit ratio',
          description: 'Share of claims a pool could serve that took a warm sandbox at once.',
          unit: 'percentunit',
          queries: [
            {
              expr: `${rate('sandlot_warmpool_claims_total', { where: 'outcome="hit"' })} / ${rate('sandlot_warmpool_claims_total')}`,
              legend: 'hit ratio',
            },
          ],
        }),
        stat({
          title: 'Sandboxes in use',
          description: 'Sandboxes that claims took from the chosen pools and still have.',
          unit: 'short',
          queries: [{ expr: `sum (${gauge('claimed')})`, legend: 'claimed' }],
        }),
        stat({
          title: 'Use of the capacity',
          description:
            'Sandboxes in use, of those in use or Ready. Near 100 % stock is short; near 0 % it is idle money.',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum (${gauge('claimed')}) / (sum (${gauge('claimed')}) + sum (${gauge('members', 'state=~"ready|stale"')}))`,
              legend: 'used',
            },
          ],
        }),
      ],
    },
    {
      title: 'Stock',
      height: 8,
      panels: [
        {
          title: 'Ready and wanted',
          description: 'Ready members of each pool, and how many it wants. A gap that stays is a stalled refill.',
          unit: 'short',
          width: 12,
          queries: [
            { expr: byPool('members', 'state=~"ready|stale"'), legend: `${LEGEND} ready` },
            { expr: byPool('target'), legend: `${LEGEND} wanted` },
          ],
        },
        {
          title: 'Members by state',
          description:
            'stale: Ready, but of an earlier template. pending: starting. stuck: not Ready past the grace of the pool.',
          unit: 'short',
          width: 12,
          stacked: true,
          queries: [{ expr: `sum by (state) (${gauge('members')})`, legend: '{{state}}' }],
        },
      ],
    },
    {
      title: 'Demand and depletion',
      height: 8,
      panels: [
        {
          title: 'Claims by what the pool did for them',
          description:
            'hit: warm at once; wait: warm after waiting for stock; miss: cold, though a warm one would have done.',
          unit: 'ops',
          width: 8,
          stacked: true,
          queries: [{ expr: rate('sandlot_warmpool_claims_total', { by: 'outcome' }), legend: '{{outcome}}' }],
        },
        {
          title: 'Claims by pool',
          description: 'Claims served for each pool, warm and cold. none: claims that no pool served.',
          unit: 'ops',
          width: 8,
          queries: [
            {
              expr: rate('agent_sandbox_claim_creation_total', { by: 'warmpool_name, launch_type' }),
              legend: '{{warmpool_name}} {{launch_type}}',
            },
          ],
        },
        {
          title: 'Depletions',
          description:
            'Times a pool that wants members lost its last Ready one. Raise its size, or let it follow the demand.',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: `sum (increase(${select('sandlot_warmpool_depletions_total')}[$__rate_interval]))`,
              legend: 'depletions',
            },
          ],
        },
      ],
    },
    {
      title: 'Refill',
      height: 8,
      panels: [
        {
          title: 'Refill lag',
          description: 'How long each pool has had fewer Ready members than it wants.',
          unit: 's',
          width: 6,
          queries: [{ expr: `max by (${POOL}) (${gauge('short_seconds')})`, legend: LEGEND }],
        },
        {
          title: 'Time to refill a place',
          description: 'From asking for a member to its being Ready.',
          unit: 's',
          width: 6,
          queries: quantiles('sandlot_warmpool_refill_seconds'),
        },
        {
          title: 'Where a refill spends its time',
          description:
            'Mean time in each phase of a member. create: until its pod is there; schedule: until it has a node; start: disks, images, containers; ready: probes; publish: until its status says so.',
          unit: 's',
          width: 6,
          stacked: true,
          queries: [
            {
              expr: mean('sandlot_sandbox_phase_seconds', { by: 'phase', where: 'owner="pool"' }),
              legend: '{{phase}}',
            },
          ],
        },
        {
          title: 'Members made and refused',
          description:
            'Members that became Ready, and those that the API server did not let be made (quota, admission, priority).',
          unit: 'ops',
          width: 6,
          queries: [
            { expr: rate('sandlot_warmpool_refill_seconds_count'), legend: 'made' },
            { expr: rate('sandlot_warmpool_refill_failures_total'), legend: 'refused' },
          ],
        },
      ],
    },
    {
      title: 'Cost of idle stock',
      height: 8,
      panels: [
        {
          title: 'Idle CPU',
          description: 'CPU that members request while no claim uses them. Their nodes keep it free all the time.',
          unit: 'cores',
          width: 8,
          stacked: true,
          queries: [{ expr: byPool('idle_cpu_cores'), legend: LEGEND }],
        },
        {
          title: 'Idle memory',
          description: 'Memory that members request while no claim uses them.',
          unit: 'bytes',
          width: 8,
          stacked: true,
          queries: [{ expr: byPool('idle_memory_bytes'), legend: LEGEND }],
        },
        {
          title: 'Idle sandboxes per claim a minute',
          description:
            'Idle members of all chosen pools for each claim served in a minute: what an instant start costs. Below 1 a burst of a minute empties the stock.',
          unit: 'short',
          width: 8,
          queries: [
            {
              expr: `sum (${gauge('members', 'state=~"ready|stale"')}) / (60 * ${rate('sandlot_warmpool_claims_total')})`,
              legend: 'idle per claim a minute',
            },
          ],
        },
      ],
    },
    {
      title: 'Templates',
      height: 7,
      panels: [
        {
          title: 'Network policies',
          description:
            'What was done about the network policies of templates. refused: the API server does not take their rules, so their sandboxes get the rules accepted last, or no network.',
          unit: 'ops',
          width: 24,
          queries: [
            { expr: rate('sandlot_network_policy_operations_total', { by: 'operation' }), legend: '{{operation}}' },
          ],
        },
      ],
    },
  ],
};
