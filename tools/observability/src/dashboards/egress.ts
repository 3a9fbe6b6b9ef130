import type { Dashboard, Panel } from './model.ts';
import { quantiles, rate, select } from './queries.ts';
import { row } from './row.ts';

const CONNECTIONS = 'sandlot_egress_connections_total';
const QUESTIONS = 'sandlot_egress_dns_queries_total';
const TENANT = 'namespace=~"$namespace",template=~"$template"';
const REFUSED = `${TENANT},decision="refused"`;

const stat = (panel: Omit<Panel, 'kind' | 'width'>): Panel => ({ ...panel, kind: 'stat', width: 4 });
const byInstance = (metric: string): string => `max by (instance) (${select(metric)})`;
const results = (metric: string): Panel['queries'] => [
  { expr: rate(`sandlot_egress_${metric}_total`, { by: 'result' }), legend: '{{result}}' },
];

const now = row(
  'Now',
  [
    stat({
      title: 'Ready replicas',
      description:
        'Proxies that take connections. Without one, sandboxes that use the proxy find no address by a name.',
      unit: 'short',
      limit: 1,
      queries: [{ expr: `sum (${select('sandlot_egress_ready')})`, legend: 'ready' }],
    }),
    stat({
      title: 'Oldest view',
      description:
        'How long ago the oldest view of the cluster was whole. Beyond 30 s a replica hands out no credentials.',
      unit: 's',
      queries: [{ expr: `max (${select('sandlot_egress_rules_age_seconds')})`, legend: 'age' }],
    }),
    stat({
      title: 'Sandboxes',
      description: 'Sandboxes whose addresses the proxy knows, those without a name in their rules included.',
      unit: 'short',
      queries: [{ expr: `max (${select('sandlot_egress_sandboxes')})`, legend: 'known' }],
    }),
    stat({
      title: 'Open connections',
      description: 'Connections of sandboxes through all replicas.',
      unit: 'short',
      queries: [{ expr: `sum (${select('sandlot_egress_open_connections')})`, legend: 'open' }],
    }),
    stat({
      title: 'Refusals',
      description: 'Connections, requests and questions a second that were refused, in the chosen namespaces.',
      unit: 'ops',
      queries: [{ expr: rate(CONNECTIONS, { where: REFUSED }), legend: 'refused' }],
    }),
    stat({
      title: 'Questions of no sandbox',
      description: 'Share of questions from addresses that no sandbox has. More than a few: addresses are replaced.',
      unit: 'percentunit',
      queries: [
        {
          expr: `${rate(QUESTIONS, { where: 'result="unknown_source"' })} / ${rate(QUESTIONS)}`,
          legend: 'unknown',
        },
      ],
    }),
  ],
  5,
);

const tenants = row('Namespaces and templates', [
  {
    title: 'Connections and requests by namespace',
    description:
      'That ended, a second, with refused questions. observed: allowed though the list does not have it. failed: allowed, and came to nothing.',
    unit: 'ops',
    width: 12,
    queries: [
      { expr: rate(CONNECTIONS, { by: 'namespace, decision', where: TENANT }), legend: '{{namespace}} {{decision}}' },
    ],
  },
  {
    title: 'Refusals by template',
    description: 'A second. A template whose list lacks a host that its sandboxes need stands out.',
    unit: 'ops',
    width: 12,
    stacked: true,
    queries: [
      { expr: rate(CONNECTIONS, { by: 'namespace, template', where: REFUSED }), legend: '{{namespace}}/{{template}}' },
    ],
  },
  {
    title: 'Refusals by reason',
    description: 'A second. Which hosts they were for: npx sandlot egress NAME, with the name of the claim.',
    unit: 'ops',
    stacked: true,
    queries: [
      { expr: rate(CONNECTIONS, { by: 'protocol, reason', where: REFUSED }), legend: '{{protocol}} {{reason}}' },
    ],
  },
  {
    title: 'Connections and requests by protocol',
    description: 'A second. tls: passed on unopened. https: looked into for a rule. dns: refused questions alone.',
    unit: 'ops',
    stacked: true,
    queries: [
      { expr: rate(CONNECTIONS, { by: 'protocol, decision', where: TENANT }), legend: '{{protocol}} {{decision}}' },
    ],
  },
  {
    title: 'Bytes by namespace',
    description: 'Bytes a second of connections that were passed on unopened, counted when they end.',
    unit: 'binBps',
    width: 12,
    queries: [
      {
        expr: rate('sandlot_egress_bytes_total', { by: 'namespace, direction', where: TENANT }),
        legend: '{{namespace}} {{direction}}',
      },
    ],
  },
]);

const resolver = row('Resolver and upstreams', [
  {
    title: 'Questions by result',
    description:
      'A second. steered: answered with the proxy. forwarded: of an open sandbox. limited: beyond egress.limits. failed: no server answered.',
    unit: 'reqps',
    stacked: true,
    queries: results('dns_queries'),
  },
  {
    title: 'Unknown sources',
    description: 'Questions and connections a second from addresses that no sandbox has. All are refused.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_egress_unknown_sources_total', { by: 'protocol' }), legend: '{{protocol}}' }],
  },
  {
    title: 'Time to connect to an upstream',
    description: 'From a decision to the connection to the upstream, the look-up of its name included.',
    unit: 's',
    queries: quantiles('sandlot_egress_dial_seconds').map((query) => ({ ...query, exemplars: false })),
  },
  {
    title: 'Upstreams that were not reached',
    description:
      'A second, by why. no_answer: the DNS servers of the proxy. no_address, forbidden_address: what the sandbox asked for.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_egress_dial_failures_total', { by: 'reason' }), legend: '{{reason}}' }],
  },
]);

const credentials = row('Hosts with a rule', [
  {
    title: 'Handshakes',
    description: 'A second. refused: the client does not trust the authority of the proxy, or pins a certificate.',
    unit: 'ops',
    width: 8,
    stacked: true,
    queries: results('handshakes'),
  },
  {
    title: 'Proofs of daemons',
    description: 'A second. failed: the daemon of a sandbox did not prove who it is, and no credential was sent.',
    unit: 'ops',
    width: 8,
    stacked: true,
    queries: results('proofs'),
  },
  {
    title: 'Requests that a rule sets headers in',
    description: 'A second. missing: a Secret is missing or not marked, or the view is too old to hand it out.',
    unit: 'ops',
    width: 8,
    stacked: true,
    queries: results('injections'),
  },
]);

const replicas = row('Replicas', [
  {
    title: 'Age of the view',
    description: 'By replica. It follows a Lease that the rules process writes every five seconds.',
    unit: 's',
    limit: 30,
    queries: [{ expr: byInstance('sandlot_egress_rules_age_seconds'), legend: '{{instance}}' }],
  },
  {
    title: 'Data plane and rules process',
    description: '1 while each hears of the other. A replica whose proxy does not hear of its rules is not ready.',
    unit: 'short',
    queries: [
      { expr: byInstance('sandlot_egress_rules_connected'), legend: 'proxy {{instance}}' },
      { expr: byInstance('sandlot_egress_plane_connected'), legend: 'rules {{instance}}' },
    ],
  },
  {
    title: 'Unconfirmed changes',
    description:
      'Messages that the proxy has not confirmed. They wait for milliseconds, and ten seconds end the connection.',
    unit: 'short',
    queries: [{ expr: byInstance('sandlot_egress_plane_unconfirmed'), legend: '{{instance}}' }],
  },
  {
    title: 'Open connections',
    description: 'By replica. The Service spreads new connections, and not those that are open.',
    unit: 'short',
    stacked: true,
    queries: [{ expr: byInstance('sandlot_egress_open_connections'), legend: '{{instance}}' }],
  },
  {
    title: 'Closed by a change of rules',
    description: 'Connections a second that ended because the rules no longer have their host.',
    unit: 'ops',
    width: 12,
    queries: [{ expr: rate('sandlot_egress_closed_total'), legend: 'closed' }],
  },
]);

export const egress: Dashboard = {
  uid: 'sandlot-egress',
  title: 'Sandlot / Egress',
  description:
    'What sandboxes reach by name, what they were refused by namespace and template, and the state of the proxies.',
  // The proxy is a program in Go that has no build info of Node.
  processes: '{__name__=~"sandlot_egress_ready|sandlot_egress_plane_connected"}',
  variables: [
    { name: 'namespace', label: 'Namespace', query: `label_values(${CONNECTIONS}, namespace)` },
    { name: 'template', label: 'Template', query: `label_values(${CONNECTIONS}{namespace=~"$namespace"}, template)` },
  ],
  rows: [now, tenants, resolver, credentials, replicas],
};
