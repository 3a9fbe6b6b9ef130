import { parseDurationMs } from '@sandlot/std';
import type { KruiseClaim } from './kruise.ts';
import { compact, formatFrom, keepMetadata, keepOwn, noteUnread } from './notes.ts';
import type { Note, Translated } from './notes.ts';

const EXTENSIONS = 'extensions.agents.x-k8s.io/v1beta1';

const CLAIM_FIELDS = [
  'templateName',
  'replicas',
  'shutdownTime',
  'claimTimeout',
  'ttlAfterCompleted',
  'labels',
  'annotations',
  'envVars',
  'inplaceUpdate',
  'dynamicVolumesMount',
  'reserveFailedSandbox',
  'createOnNoStock',
  'waitReadyTimeout',
  'skipInitRuntime',
];

/** A claim that is still served. One that is complete is left out: its sandboxes are translated. */
export function translateClaim(claim: KruiseClaim): Translated {
  const from = formatFrom('SandboxClaim', claim);
  const { spec } = claim;
  if (claim.status?.phase === 'Completed') {
    return {
      from,
      objects: [],
      notes: [
        { effect: 'changed', field: 'status.phase', text: 'left out: it is complete, and its sandboxes are here' },
      ],
    };
  }
  const pods = compact({ labels: keepOwn(spec.labels), annotations: keepOwn(spec.annotations) });
  const object = {
    apiVersion: EXTENSIONS,
    kind: 'SandboxClaim',
    metadata: keepMetadata(claim.metadata),
    spec: compact({
      warmPoolRef: { name: spec.templateName },
      replicas: spec.replicas,
      lifecycle:
        spec.shutdownTime === undefined ? undefined : { shutdownTime: spec.shutdownTime, shutdownPolicy: 'Delete' },
      claimTimeout: spec.claimTimeout,
      ttlSecondsAfterCompleted: secondsOf(spec.ttlAfterCompleted),
      additionalPodMetadata: Object.keys(pods).length === 0 ? undefined : pods,
      envs: translateVariables(spec.envVars),
      inplaceUpdate: translateInplaceUpdate(spec.inplaceUpdate),
      dynamicVolumes: translateVolumes(spec.dynamicVolumesMount),
      reserveFailedSandbox: spec.reserveFailedSandbox,
      createOnNoStock: spec.createOnNoStock,
      waitReadyTimeout: spec.waitReadyTimeout,
      skipInitRuntime: spec.skipInitRuntime,
    }),
  };
  return { from, objects: [object], notes: [...noteClaim(spec), ...noteUnread(spec, CLAIM_FIELDS)] };
}

function secondsOf(duration: string | undefined): number | undefined {
  const milliseconds = duration === undefined ? undefined : parseDurationMs(duration);
  return milliseconds === undefined ? undefined : Math.ceil(milliseconds / 1_000);
}

function translateVariables(variables: Readonly<Record<string, string>> = {}): readonly object[] | undefined {
  const entries = Object.entries(variables);
  return entries.length === 0 ? undefined : entries.map(([key, value]) => ({ name: key, value }));
}

function translateVolumes(volumes: KruiseClaim['spec']['dynamicVolumesMount'] = []): readonly object[] | undefined {
  if (volumes.length === 0) return undefined;
  return volumes.map(({ pvName, mountPath, subPath, readOnly }) =>
    compact({ persistentVolumeName: pvName, mountPath, subPath, readOnly }),
  );
}

type InplaceUpdate = KruiseClaim['spec']['inplaceUpdate'];
type Resources = NonNullable<InplaceUpdate>['resources'];

function translateInplaceUpdate({ image, resources }: NonNullable<InplaceUpdate> = {}): object | undefined {
  return dropEmpty(compact({ image, resources: keepCpu(resources) }));
}

/** The CPU, unless the claim asks for more than that: half of what fits together may not fit at all. */
function keepCpu(resources: Resources): object | undefined {
  if (listUnchangeable(resources).length > 0) return undefined;
  return dropEmpty(compact({ requests: dropEmpty(resources?.requests), limits: dropEmpty(resources?.limits) }));
}

function dropEmpty<T extends object>(value: T | undefined): T | undefined {
  return value === undefined || Object.keys(value).length === 0 ? undefined : value;
}

/** Names of what no claim can change in a running Pod. */
function listUnchangeable({ requests = {}, limits = {}, ...others }: NonNullable<Resources> = {}): readonly string[] {
  const names = [...Object.keys(requests), ...Object.keys(limits)].filter((name) => name !== 'cpu');
  return [...new Set([...names, ...Object.keys(others)])];
}

function noteInplaceUpdate({ image, resources, ...others }: NonNullable<InplaceUpdate> = {}): readonly Note[] {
  const notes: Note[] = [];
  const check = (text: string): void => void notes.push({ effect: 'check', field: 'spec.inplaceUpdate', text });
  const lose = (text: string): void => void notes.push({ effect: 'lost', field: 'spec.inplaceUpdate', text });
  const unchangeable = listUnchangeable(resources);
  if (image !== undefined) check('name the image in imageOverridePolicy of the template');
  if (keepCpu(resources) !== undefined) check('allow the CPU by resourcesOverridePolicy of the template');
  if (unchangeable.length > 0) lose(`only cpu can be changed in place, and the claim names ${unchangeable.join(', ')}`);
  const unread = Object.keys(others);
  if (unread.length > 0) lose(`no change of ${unread.join(', ')} in a claim`);
  return notes;
}

function noteClaim({ inplaceUpdate, dynamicVolumesMount = [], labels }: KruiseClaim['spec']): readonly Note[] {
  const notes: Note[] = [...noteInplaceUpdate(inplaceUpdate)];
  const check = (field: string, text: string): void =>
    void notes.push({ effect: 'check', field: `spec.${field}`, text });
  if (dynamicVolumesMount.length > 0) {
    check(
      'dynamicVolumesMount',
      'label each PersistentVolume sandlot.dev/claimable-by=<namespace>, and set claimController.persistentVolumes',
    );
  }
  if (labels !== undefined)
    check('labels', 'they go to the Pod; keys of a domain need claimController.allowedLabelDomains');
  return notes;
}
