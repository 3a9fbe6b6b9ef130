import type { Table } from '../../model.ts';

const BUILD = 'services/api/src/claim/build-e2b-claim.test.ts';
const CLAIM = [BUILD, 'translates the control key %s=%s and removes it from the metadata'] as const;
const TENANTS = 'services/api/src/e2b/tenants.integration.test.ts';
const SHOWN = [
  'services/api/src/e2b/answer/control-metadata.test.ts',
  '%s shows what clients of OpenKruise expect',
] as const;
const HEADERS = 'services/api/src/e2b/snapshots/snapshots.integration.test.ts';
const FOLLOWED = [HEADERS, 'have it kept for a time, and say what holds for every snapshot'] as const;
const VOLUMES = [
  'e2e/src/sdk/shared-volumes.test.ts',
  'are PersistentVolumeClaims of the team, by the keys of one volume and by a list, and are shared',
] as const;
const POLICY = 'a cold start; needs `dynamicVolumesPolicy` of the template';

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
    [
      'csi-volume-name',
      'partly',
      VOLUMES,
      `names a PersistentVolumeClaim of the key’s namespace, and no PersistentVolume; ${POLICY}`,
    ],
    ['csi-mount-point', 'partly', VOLUMES, POLICY],
    ['csi-subpath', 'partly', VOLUMES, POLICY],
    [
      'csi-volume-config',
      'partly',
      VOLUMES,
      `\`pvName\` is that of a PersistentVolumeClaim of the key’s namespace; \`mountID\` and \`attributes\` are refused; ${POLICY}`,
    ],
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
    [
      'x-e2b-kruise-snapshot-keep-running',
      'partly',
      FOLLOWED,
      'a snapshot leaves the sandbox running, so others than `true` are refused',
    ],
    ['x-e2b-kruise-snapshot-ttl', 'partly', FOLLOWED, '1 s to 365 days, others are refused'],
    [
      'x-e2b-kruise-snapshot-persistent-contents',
      'partly',
      FOLLOWED,
      'a snapshot has the memory and the files, so one of them alone is refused',
    ],
    [
      'x-e2b-kruise-snapshot-wait-success-seconds',
      'partly',
      [HEADERS, 'say how long the answer waits: a save that takes longer is given up, and nothing of it is left'],
      '1 to 300 s, others are refused; without it the answer waits 50 s',
    ],
    ['x-e2b-kruise-volume-size', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-storage-class', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-access-mode', 'no', 'there are no volumes'],
    ['x-e2b-kruise-volume-wait-success-seconds', 'no', 'there are no volumes'],
    ['/kruise/api/* (prefix of the API)', 'no', 'not served'],
    ['/kruise/<id>/<port>/* (prefix of a sandbox)', 'no', 'not served'],
  ],
};
