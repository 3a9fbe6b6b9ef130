import type { Table } from '../../model.ts';

const BUILD = 'services/api/src/claim/build-e2b-claim.test.ts';
const CLAIM = [BUILD, 'translates the control key %s=%s and removes it from the metadata'] as const;
const TENANTS = 'services/api/src/e2b/tenants.integration.test.ts';
const SHOWN = [
  'services/api/src/e2b/answer/control-metadata.test.ts',
  '%s shows what clients of OpenKruise expect',
] as const;
const UNKNOWN = '400, which names the key';

/** Keys in the metadata of a create, with the prefix `e2b.agents.kruise.io/`, and headers. */
export const extensionKeys: Table = {
  title: 'Options of a create through the E2B API',
  what: 'key or header',
  items: [
    [
      'claim-timeout-seconds',
      'partly',
      [TENANTS, 'from %s answers %i and leaves nothing behind'],
      '1 to 600 s, others are refused',
    ],
    ['wait-ready-timeout-seconds', 'partly', CLAIM, '1 to 600 s, others are refused'],
    ['create-on-no-stock', 'yes', CLAIM],
    [
      'never-timeout',
      'partly',
      [BUILD, 'has no end with never-timeout'],
      'needs an admin’s key or the limit `neverTimeout`',
    ],
    ['return-sandbox-ip', 'yes', SHOWN],
    [
      'reserve-paused-sandbox-duration',
      'yes',
      [BUILD, 'records how long reserve-paused-sandbox-duration has it kept while it is paused'],
    ],
    ['skip-init-runtime', 'partly', CLAIM, 'excludes `envVars`'],
    ['image', 'partly', CLAIM, 'needs `imageOverridePolicy` of the template'],
    ['cpu-request', 'partly', CLAIM, 'needs `resourcesOverridePolicy` of the template'],
    ['cpu-limit', 'partly', CLAIM, 'needs `resourcesOverridePolicy` of the template'],
    ['reserve-failed-sandbox', 'partly', CLAIM, 'needs an admin’s key or the limit `keepFailed`'],
    [
      'reserve-failed-sandbox-for',
      'partly',
      CLAIM,
      'needs an admin’s key or the limit `keepFailed`; a duration is 1 s to 365 days',
    ],
    [
      'sandbox-name',
      'partly',
      [TENANTS, 'has a chosen name only if its key may choose names, and a generated one always'],
      'forces a cold start; needs an admin’s key or the limit `chooseName`, and a template without disks; the id is another one',
    ],
    [
      'sandbox-generate-name',
      'partly',
      [BUILD, 'completes sandbox-generate-name, for a repeated create in the same way, without a part of the id'],
      'forces a cold start, needs a template without disks; the id is another one',
    ],
    ['csi-volume-name', 'no', `${UNKNOWN}; a claim of kubectl has \`dynamicVolumes\``],
    ['csi-mount-point', 'no', `${UNKNOWN}; a claim of kubectl has \`dynamicVolumes\``],
    ['csi-subpath', 'no', `${UNKNOWN}; a claim of kubectl has \`dynamicVolumes\``],
    ['csi-volume-config', 'no', `${UNKNOWN}; a claim of kubectl has \`dynamicVolumes\``],
    [
      'label:<key>',
      'partly',
      [BUILD, 'sets the shutdown time, the metadata and the API key'],
      'without the prefix; a label of the claim, and not of its Pod',
    ],
    ['sandbox-resource (in answers)', 'partly', SHOWN, 'only of a sandbox that was created with one of these keys'],
    [
      'x-e2b-kruise-reserve-paused-sandbox-duration',
      'yes',
      ['services/api/src/e2b/request/headers.test.ts', 'read the retention %s as %s'],
    ],
    ['x-e2b-kruise-snapshot-keep-running', 'no', 'without effect: a snapshot leaves the sandbox running'],
    ['x-e2b-kruise-snapshot-ttl', 'no', 'without effect: the SandboxSnapshotClass says how long snapshots are kept'],
    ['x-e2b-kruise-snapshot-persistent-contents', 'no', 'without effect: a snapshot has the memory and the files'],
    ['x-e2b-kruise-snapshot-wait-success-seconds', 'no', 'without effect: the answer comes when the snapshot is saved'],
    ['x-e2b-kruise-volume-size', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-storage-class', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-access-mode', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-wait-success-seconds', 'no', 'there are no volumes'],
    ['/kruise/api/* (prefix of the API)', 'no', 'not served'],
    ['/kruise/<id>/<port>/* (prefix of a sandbox)', 'no', 'not served'],
  ],
};
