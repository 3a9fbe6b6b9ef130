import type { Dashboard, Panel } from './model.ts';
import { quantile, quantiles, rate, select } from './queries.ts';
import { row } from './row.ts';

const SAVES = 'sandlot_node_saves_total';
const RESTORES = 'sandlot_node_restores_total';
const TRANSFERS = 'sandlot_node_transfers_total';
/** Saves that ended in a fault of the node, not by the wish of a user or at the limit of a quota. */
const BROKEN = 'result=~"no_space|stuck|failed"';
/** `node` is a label that the PodMonitor of the chart adds. */
const NODE = 'node, instance';
const BY_NODE = '{{node}} {{instance}}';

const stat = (panel: Omit<Panel, 'kind' | 'width'>): Panel => ({ ...panel, kind: 'stat', width: 4 });
const byNode = (metric: string): string => `max by (${NODE}) (${select(metric)})`;

/** One of a counter's results, of two results; nothing while neither happens. */
const shareOf = (counter: string, good: string, bad: string): string =>
  `${rate(counter, { where: good })} / (${rate(counter, { where: good })} + ${rate(counter, { where: bad })})`;

const now = row(
  'Now',
  [
    stat({
      title: 'Saves without a fault',
      description: 'Of the saves that no user cancelled and no quota refused, the share that a sandbox can go on from.',
      unit: 'percentunit',
      limit: 0.99,
      queries: [{ expr: shareOf(SAVES, 'result="saved"', BROKEN), legend: 'saved' }],
    }),
    stat({
      title: 'Restores without a fault',
      description: 'Share of restores after which a sandbox goes on with its memory. The others start without it.',
      unit: 'percentunit',
      limit: 0.99,
      queries: [{ expr: shareOf(RESTORES, 'result="restored"', 'result="failed"'), legend: 'restored' }],
    }),
    stat({
      title: 'Saves in progress',
      description: 'Sandboxes that the nodes save at this moment.',
      unit: 'short',
      queries: [{ expr: `sum (${select('sandlot_node_saves_in_progress')})`, legend: 'saves' }],
    }),
    stat({
      title: 'Stored',
      description: 'Bytes of all snapshots on all nodes.',
      unit: 'bytes',
      queries: [{ expr: `sum (${select('sandlot_node_store_used_bytes')})`, legend: 'stored' }],
    }),
    stat({
      title: 'Fullest disk',
      description: 'Free bytes of the disk of snapshots that has the fewest. Without room a save fails with NoSpace.',
      unit: 'bytes',
      queries: [{ expr: `min (${select('sandlot_node_store_free_bytes')})`, legend: 'free' }],
    }),
    stat({
      title: 'Nodes with sandboxes that may stand still',
      description:
        'Node components that found sandboxes paused by an earlier one and cannot let them go on. Must be 0.',
      unit: 'short',
      queries: [{ expr: `sum (${select('sandlot_node_recovery_failed')})`, legend: 'nodes' }],
    }),
  ],
  5,
);

const saves = row('Saves', [
  {
    title: 'Saves by how they ended',
    description:
      'A second, as the nodes saw them. no_space: the disk is full. stuck: a sandbox did not stand still or go on. absent: it had ended.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate(SAVES, { by: 'mode, result' }), legend: '{{mode}} {{result}}' }],
  },
  {
    title: 'Snapshots by reason',
    description:
      'A second, as their condition Ready says. It also has those that no node was asked for, such as NoNodeAgent and NodeBusy.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_snapshot_saves_total', { by: 'reason' }), legend: '{{reason}}' }],
  },
  {
    title: 'Time of a save',
    description:
      'p50 and p99 of saves that succeeded. A sandbox that goes on (Snapshot) stands still for no longer than this.',
    unit: 's',
    queries: [0.5, 0.99].map((q) => ({
      expr: quantile(q, 'sandlot_node_save_seconds', { by: 'mode' }),
      legend: `{{mode}} p${q * 100}`,
    })),
  },
  {
    title: 'Saved bytes',
    description: 'Bytes a second that saves wrote, by node. Saves are limited by the disk.',
    unit: 'binBps',
    queries: [{ expr: rate('sandlot_node_saved_bytes_total', { by: NODE }), legend: BY_NODE }],
  },
]);

const restores = row('Restores', [
  {
    title: 'Restores by how they ended',
    description: 'A second, as the nodes saw them.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate(RESTORES, { by: 'result' }), legend: '{{result}}' }],
  },
  {
    title: 'Restores by state',
    description: 'A second, as status.restore says. Withdrawn: the Pod was gone before it could begin.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_snapshot_restores_total', { by: 'state' }), legend: '{{state}}' }],
  },
  {
    title: 'Time of a restore',
    description: "From the begin of a Pod's start until gVisor has read the whole snapshot.",
    unit: 's',
    queries: quantiles('sandlot_node_restore_seconds').map((query) => ({ ...query, exemplars: false })),
  },
  {
    title: 'Copies by reason',
    description: 'Copies of snapshots that Sandboxes start from, a second, by the reason of their condition Ready.',
    unit: 'ops',
    stacked: true,
    queries: [{ expr: rate('sandlot_snapshot_copies_total', { by: 'reason' }), legend: '{{reason}}' }],
  },
]);

const sandboxes = row('What users feel', [
  {
    title: 'Time to suspend',
    description: 'p95 from the wish to suspend a Sandbox to its end, by who wished it. Hibernation waits for the save.',
    unit: 's',
    width: 12,
    queries: [{ expr: quantile(0.95, 'sandlot_sandbox_suspend_seconds', { by: 'cause' }), legend: '{{cause}}' }],
  },
  {
    title: 'Time to resume',
    description: 'p95 from the wish to resume a Sandbox to Ready, by who wished it.',
    unit: 's',
    width: 12,
    queries: [{ expr: quantile(0.95, 'sandlot_sandbox_resume_seconds', { by: 'cause' }), legend: '{{cause}}' }],
  },
]);

const bucket = row('Bucket', [
  {
    title: 'Transfers by how they ended',
    description: 'A second. refused: the bucket has something else than was put there. Nothing without a bucket.',
    unit: 'ops',
    width: 12,
    stacked: true,
    queries: [{ expr: rate(TRANSFERS, { by: 'kind, result' }), legend: '{{kind}} {{result}}' }],
  },
  {
    title: 'Transferred bytes',
    description: 'Bytes a second between the nodes and the bucket.',
    unit: 'binBps',
    width: 12,
    queries: [{ expr: rate('sandlot_node_transferred_bytes_total', { by: 'kind' }), legend: '{{kind}}' }],
  },
]);

const nodes = row('Nodes', [
  {
    title: 'Stored bytes',
    description: 'Bytes of the snapshots of each node.',
    unit: 'bytes',
    width: 8,
    queries: [{ expr: byNode('sandlot_node_store_used_bytes'), legend: BY_NODE }],
  },
  {
    title: 'Free bytes',
    description: 'Free bytes of the disk of snapshots of each node.',
    unit: 'bytes',
    width: 8,
    queries: [{ expr: byNode('sandlot_node_store_free_bytes'), legend: BY_NODE }],
  },
  {
    title: 'Silent nodes',
    description: 'Nodes whose node component does not answer the snapshot-controller. Must be 0.',
    unit: 'short',
    width: 8,
    limit: 1,
    queries: [{ expr: `sum (${select('sandlot_snapshot_silent_nodes')})`, legend: 'nodes' }],
  },
  {
    title: 'Calls to nodes in progress',
    description: 'Calls of the snapshot-controller that wait for a node component.',
    unit: 'short',
    width: 12,
    stacked: true,
    queries: [{ expr: `sum by (call) (${select('sandlot_snapshot_calls_in_progress')})`, legend: '{{call}}' }],
  },
  {
    title: 'Faults by node',
    description: 'Saves and restores that failed on each node, a second. One node alone is a broken disk or gVisor.',
    unit: 'ops',
    width: 12,
    queries: [
      { expr: rate(SAVES, { by: NODE, where: BROKEN }), legend: `saves ${BY_NODE}` },
      { expr: rate(RESTORES, { by: NODE, where: 'result="failed"' }), legend: `restores ${BY_NODE}` },
    ],
  },
]);

export const hibernation: Dashboard = {
  uid: 'sandlot-hibernation',
  title: 'Sandlot / Hibernation',
  description: 'Saves and restores of sandboxes with their memory, their faults, and the disks of the nodes.',
  // The node component is a program in Go that has no such build info.
  processes: '{__name__=~"agent_sandbox_build_info|sandlot_node_saves_in_progress"}',
  variables: [],
  rows: [now, saves, restores, sandboxes, bucket, nodes],
};
