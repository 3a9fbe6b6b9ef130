import { createAlert } from './alert.ts';
import type { RuleGroup } from './alert.ts';

/** Reasons that are the platform's to mend; the others say what a user asked for in vain. */
const OURS = ['SaveFailed', 'NoSpace', 'NoNodeAgent', 'NodeBusy', 'NoSnapshotClass', 'DataLost'].join('|');

/** Rules for installations whose sandboxes hibernate. */
export const hibernationRules: RuleGroup = {
  name: 'sandlot-hibernation',
  rules: [
    createAlert({
      alert: 'SandlotSavesFailing',
      expr: `sum by (reason) (increase(sandlot_snapshot_saves_total{reason=~"${OURS}"}[15m])) > 0`,
      severity: 'warning',
      summary: 'Sandboxes could not be saved: {{ $labels.reason }}',
      description:
        '{{ $value | humanize }} saves failed with the reason {{ $labels.reason }} in 15 minutes. These sandboxes lost their memory, or go on running, as their template says.',
      runbook: 'saves-failing',
    }),
    createAlert({
      alert: 'SandlotRestoresFailing',
      expr: 'sum(increase(sandlot_snapshot_restores_total{state="Failed"}[15m])) > 0',
      severity: 'warning',
      summary: 'Sandboxes could not be restored and lost their memory',
      description: '{{ $value | humanize }} restores failed in 15 minutes. These sandboxes started cold.',
      runbook: 'restores-failing',
    }),
    createAlert({
      alert: 'SandlotPodsStandStill',
      expr: 'max by (instance) (sandlot_node_recovery_failed) > 0',
      for: '2m',
      severity: 'critical',
      summary: 'Sandboxes may stand still on the node of {{ $labels.instance }}',
      description:
        'The node component {{ $labels.instance }} found sandboxes that an earlier one had paused for a save, and cannot let them go on.',
      runbook: 'pods-stand-still',
    }),
    createAlert({
      alert: 'SandlotUploadsFailing',
      expr: 'sum by (instance) (increase(sandlot_node_transfers_total{kind="upload",result=~"failed|refused"}[30m])) > 0 unless sum by (instance) (increase(sandlot_node_transfers_total{kind="upload",result="done"}[30m])) > 0',
      for: '15m',
      severity: 'warning',
      summary: 'No upload of {{ $labels.instance }} to the bucket succeeds',
      description:
        'The node component {{ $labels.instance }} failed to upload snapshots {{ $value | humanize }} times in 30 minutes, and has uploaded none. Their sandboxes wake on this node alone, and lose their memory with it.',
      runbook: 'uploads-failing',
    }),
    createAlert({
      alert: 'SandlotStoreNearlyFull',
      expr: 'predict_linear(sandlot_node_store_free_bytes[1h], 4 * 3600) < sandlot_node_store_keep_free_bytes',
      for: '15m',
      severity: 'warning',
      summary: 'The disk of snapshots of {{ $labels.instance }} will be full within four hours',
      description:
        'At the pace of the last hour the disk of the node component {{ $labels.instance }} has less free than hibernation.node.keepFreeBytes in four hours. Saves then fail with NoSpace.',
      runbook: 'store-nearly-full',
    }),
    createAlert({
      alert: 'SandlotSnapshotControllerDown',
      expr: 'absent(sandlot_controller_workers{controller="snapshot"})',
      for: '2m',
      severity: 'critical',
      summary: 'No process of the snapshot-controller is scraped',
      description: 'There has been no snapshot-controller for two minutes, or Prometheus does not reach it.',
      runbook: 'hibernation-down',
    }),
    createAlert({
      alert: 'SandlotNodeComponentDown',
      expr: 'absent(sandlot_node_saves_in_progress)',
      for: '5m',
      severity: 'critical',
      summary: 'No node component is scraped',
      description: 'There has been no node component on any node for five minutes, or Prometheus reaches none.',
      runbook: 'hibernation-down',
    }),
    createAlert({
      alert: 'SandlotNodeComponentSilent',
      expr: 'sum(sandlot_snapshot_silent_nodes) > 0',
      for: '10m',
      severity: 'warning',
      summary: 'The node component of {{ $value | humanize }} nodes does not answer',
      description:
        'The snapshot-controller has had no answer of the node component on {{ $value | humanize }} nodes for ten minutes. No sandbox there is saved or restored.',
      runbook: 'node-component-silent',
    }),
  ],
};
