import type { Table } from '../../model.ts';

const LIFE = 'e2e/src/sdk/lifecycle.test.ts';
const CREATED = [
  LIFE,
  'returns a sandbox that runs commands at once, with its variables, metadata and lifetime',
] as const;
const EGRESS = [
  'e2e/src/tenancy/network.test.ts',
  'with allowOut and denyOut apply within what the template allows',
] as const;
const READ = ['services/api/src/e2b/request/read-create.test.ts', 'rejects %s'] as const;
const NAMED = '400, which names the field';

/** Fields of `POST /v2/sandboxes` and `POST /sandboxes`. */
export const createFields: Table = {
  title: 'Fields of a create',
  what: 'field',
  items: [
    ['templateID', 'partly', CREATED, 'of tags, `default` and `latest` alone; others are of snapshots'],
    ['timeout', 'yes', [LIFE, 'ends by itself at its timeout']],
    ['autoPause', 'yes', [LIFE, 'is paused at its timeout with onTimeout pause, and resumes on connect']],
    [
      'autoPauseMemory',
      'yes',
      ['services/api/src/claim/build-e2b-claim.test.ts', 'records that the pause at its end keeps no memory'],
    ],
    [
      'autoResume',
      'partly',
      [LIFE, 'wakes for a request with autoResume, and then lives at least five minutes'],
      'without `autoPause` it is refused',
    ],
    [
      'allow_internet_access',
      'yes',
      ['e2e/src/tenancy/network.test.ts', 'without internet access reach nothing, which getInfo shows'],
    ],
    ['network', 'partly', EGRESS, 'see its fields'],
    [
      'network.allowPublicTraffic',
      'yes',
      ['e2e/src/gateway/ports.test.ts', 'a sandbox whose ports are not public is reached only with its traffic token'],
    ],
    ['network.allowOut', 'partly', EGRESS, 'names need `egress.enabled`. The template is the limit'],
    ['network.denyOut', 'yes', EGRESS],
    [
      'network.rules',
      'partly',
      ['services/api/src/e2b/egress/rules.integration.test.ts', 'work with the stock client, placeholders included'],
      'with `egress.credentials.enabled` and a template with the daemon, else 400',
    ],
    ['network.egressProxy', 'no', `${NAMED}; needs an egress proxy`],
    ['network.dnsServers', 'no', NAMED],
    ['network.maskRequestHost', 'no', NAMED],
    ['network.httpsPorts', 'no', NAMED],
    ['metadata', 'partly', CREATED, '64 KiB in all'],
    ['envVars', 'yes', CREATED],
    [
      'volumeMounts',
      'partly',
      [
        'services/api/src/e2b/volumes/volumes.integration.test.ts',
        'become dynamicVolumes of the claim, are repeated in answers, and keep the volume',
      ],
      'a cold start; with `volumes.storageClass`, else 403',
    ],
    [
      'mcp',
      'partly',
      ['e2e/src/sdk/mcp.test.ts', 'offers the tools of every server of the image'],
      'the six servers of the image `mcp-gateway`; others are refused by name',
    ],
    ['iam', 'refused', READ, '400: Sandlot issues no identities for workloads'],
    [
      'secure',
      'partly',
      [
        'services/api/src/e2b/request/read-create.test.ts',
        'defaults the timeout to 300 s in version 2 and 15 s in version 1',
      ],
      'without effect: every sandbox is secured',
    ],
    [
      'Idempotency-Key (header)',
      'yes',
      [
        'services/api/src/idempotency/idempotency.integration.test.ts',
        'and killed by %s gets the same answer again and is not created again',
      ],
    ],
  ],
};
