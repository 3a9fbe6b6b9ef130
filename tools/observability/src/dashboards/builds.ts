import type { Dashboard, Panel } from './model.ts';
import { quantile, quantiles, rate, select } from './queries.ts';
import { row } from './row.ts';

const BUILDS = 'sandlot_template_builds_total';
const STEPS = 'sandlot_template_build_steps_total';
const SECONDS = 'sandlot_template_build_seconds';
const UNFINISHED = 'sandlot_template_builds';
const OPERATIONS = 'sandlot_image_operations_total';

const stat = (panel: Omit<Panel, 'kind' | 'width'>): Panel => ({ ...panel, kind: 'stat', width: 4 });
/** Every replica exports the same value. */
const once = (metric: string, own = ''): string => `max (${select(metric, own)})`;

const now = row(
  'Now',
  [
    stat({
      title: 'Running',
      description: 'Builds whose steps run, of all namespaces.',
      unit: 'short',
      queries: [{ expr: once(UNFINISHED, 'state="running"'), legend: 'running' }],
    }),
    stat({
      title: 'Waiting for their namespace',
      description: 'Builds of namespaces that run as many as builds.perNamespace allows.',
      unit: 'short',
      queries: [{ expr: once(UNFINISHED, 'state="waiting"'), legend: 'waiting' }],
    }),
    stat({
      title: 'Waiting for a process',
      description: 'Builds in the queue: every process runs builds.concurrentBuilds, or another attempt is due later.',
      unit: 'short',
      queries: [{ expr: once('sandlot_template_build_queue_waiting'), legend: 'queued' }],
    }),
    stat({
      title: 'Builds that succeed',
      description: 'Share of the builds that ended. Most failures are those of a command of the author.',
      unit: 'percentunit',
      queries: [
        {
          expr: `${rate(BUILDS, { where: 'reason="Built"' })} / ${rate(BUILDS, { where: 'reason!="Superseded"' })}`,
          legend: 'built',
        },
      ],
    }),
    stat({
      title: 'Steps from the cache',
      description: 'Share of the steps of builds that ended well.',
      unit: 'percentunit',
      queries: [{ expr: `${rate(STEPS, { where: 'source="cache"' })} / ${rate(STEPS)}`, legend: 'cached' }],
    }),
    stat({
      title: 'Operations on registries',
      description: 'Requests to the image plane that are under way: pulls of bases, pushes of layers and images.',
      unit: 'short',
      queries: [{ expr: `sum (${select('sandlot_image_open_operations')})`, legend: 'open' }],
    }),
  ],
  5,
);

const outcomes = row('Builds', [
  {
    title: 'Builds by how they ended',
    description:
      'A second, by the reason of the condition Ready. RegistryFailed and many NotStarted are for the operator; the others for the author.',
    unit: 'ops',
    stacked: true,
    width: 8,
    queries: [{ expr: rate(BUILDS, { by: 'reason' }), legend: '{{reason}}' }],
  },
  {
    title: 'Time of builds without cache',
    description: 'Of builds that ended well and found none of their steps in the cache.',
    unit: 's',
    width: 8,
    queries: quantiles(SECONDS, 'cache="none"'),
  },
  {
    title: 'Time by cache',
    description: 'The 95th percentile, by how much of a build came from the cache.',
    unit: 's',
    width: 8,
    queries: [{ expr: quantile(0.95, SECONDS, { by: 'cache' }), legend: '{{cache}}' }],
  },
]);

const registries = row('Registries', [
  {
    title: 'Operations by result',
    description: 'A second, of the image plane. not_allowed: a tenant named a registry that is closed to it.',
    unit: 'ops',
    stacked: true,
    width: 12,
    queries: [{ expr: rate(OPERATIONS, { by: 'operation, result' }), legend: '{{operation}} {{result}}' }],
  },
  {
    title: 'Time of operations',
    description: 'The 95th percentile by operation. A slow registry shows here first.',
    unit: 's',
    width: 12,
    queries: [
      { expr: quantile(0.95, 'sandlot_image_operation_seconds', { by: 'operation' }), legend: '{{operation}}' },
    ],
  },
]);

const images = row('Images of builds', [
  {
    title: 'Images in the registry',
    description:
      'At the last look of the leader. Waiting: nothing needs them, and they are deleted when builds.images.graceSeconds are over.',
    unit: 'short',
    stacked: true,
    width: 8,
    queries: [{ expr: `max by (state) (${select('sandlot_template_images')})`, legend: '{{state}}' }],
  },
  {
    title: 'Images deleted or refused',
    description: 'A second. Refused: the registry cannot delete, or the credentials may not.',
    unit: 'ops',
    width: 8,
    queries: [{ expr: rate('sandlot_template_images_total', { by: 'result' }), legend: '{{result}}' }],
  },
  {
    title: 'Time since the last look',
    description: 'An hour at most, unless something cannot be read: then nothing is deleted.',
    unit: 's',
    width: 4,
    queries: [
      { expr: `time() - ${once('sandlot_template_images_checked_timestamp_seconds')}`, legend: 'since the last look' },
    ],
  },
  {
    title: 'Blocked',
    description: '1: the record of images is missing, or names a namespace that is not served. The log says which.',
    unit: 'short',
    width: 4,
    queries: [{ expr: once('sandlot_template_images_blocked'), legend: 'blocked' }],
  },
]);

export const builds: Dashboard = {
  uid: 'sandlot-builds',
  title: 'Sandlot / Template builds',
  description: 'Builds of templates, their steps and cache, the queue, the registries, and the images in them.',
  // The image plane is a program in Go that has no such build info.
  processes: '{__name__=~"agent_sandbox_build_info|sandlot_image_open_operations"}',
  variables: [],
  rows: [now, outcomes, registries, images],
};
