import type { Table } from '../../model.ts';

const STOCK = [
  'services/api/src/e2b/stock-client.integration.test.ts',
  'creates, finds, lists, extends, pauses, resumes and kills a sandbox',
] as const;
const LIFE = 'e2e/src/sdk/lifecycle.test.ts';
const OLDER = ['e2e/src/sdk/older-clients.test.ts', 'connects and resumes with the v1 routes'] as const;
const LOGS = 'services/api/src/e2b/logs/logs.integration.test.ts';
const METRICS = 'services/api/src/e2b/metrics/metrics.integration.test.ts';
const SNAPSHOTS = 'services/api/src/e2b/snapshots/snapshots.integration.test.ts';

export const sandboxOperations: Table = {
  title: 'Sandboxes and snapshots',
  what: 'operation',
  items: [
    [
      'POST /v2/sandboxes',
      'yes',
      [LIFE, 'returns a sandbox that runs commands at once, with its variables, metadata and lifetime'],
    ],
    ['POST /sandboxes', 'yes', ['e2e/src/gateway/domain.test.ts', 'kills a sandbox once']],
    ['GET /v2/sandboxes', 'yes', [LIFE, 'returns pages in order, filtered by metadata, state, template and start']],
    [
      'GET /sandboxes',
      'yes',
      [
        'services/api/src/e2b/tenants.integration.test.ts',
        'is in no list, and no query parameter reaches its namespace',
      ],
    ],
    ['GET /sandboxes/{sandboxID}', 'yes', STOCK],
    ['DELETE /sandboxes/{sandboxID}', 'yes', STOCK],
    ['POST /v2/sandboxes/{sandboxID}/connect', 'yes', STOCK],
    ['POST /sandboxes/{sandboxID}/connect', 'yes', OLDER],
    ['POST /sandboxes/{sandboxID}/resume', 'yes', OLDER],
    ['POST /sandboxes/{sandboxID}/timeout', 'yes', STOCK],
    [
      'POST /sandboxes/{sandboxID}/refreshes',
      'yes',
      ['e2e/src/sdk/older-clients.test.ts', 'extends its sandbox with refreshes, which never shorten'],
    ],
    [
      'POST /sandboxes/{sandboxID}/pause',
      'partly',
      [
        'services/api/src/e2b/pause-modes.integration.test.ts',
        'keeps files alone where the template keeps no more, and refuses a client that asks for memory',
      ],
      'keeps memory only where the template hibernates',
    ],
    [
      'PUT /sandboxes/{sandboxID}/network',
      'partly',
      ['e2e/src/tenancy/network.test.ts', 'can be replaced at run time, and stay after a pause'],
      '`dnsServers` and `egressProxy` get 400; names need `egress.enabled`, and `rules` `egress.credentials.enabled`',
    ],
    [
      'GET /sandboxes/{sandboxID}/metrics',
      'partly',
      [METRICS, 'have a history, which all replicas share and which grows while a client asks'],
      'sampled while a client asks, and kept for a day; without Redis one sample of now',
    ],
    [
      'GET /sandboxes/metrics',
      'partly',
      [METRICS, 'are those of the team that run and answer; all other ids are left out'],
      'the last sample that the replica has seen, of the minute before',
    ],
    [
      'GET /sandboxes/{sandboxID}/logs',
      'partly',
      [LOGS, 'is followed as the CLI does it without a loss, although many lines are of one millisecond'],
      'what the container prints and commands of clients do; of ended sandboxes with `api.logs.store`, without their commands',
    ],
    [
      'GET /v2/sandboxes/{sandboxID}/logs',
      'partly',
      [LOGS, 'is searched, and read backward unless the query says otherwise'],
      'as `GET /sandboxes/{sandboxID}/logs`',
    ],
    [
      'POST /sandboxes/{sandboxID}/snapshots',
      'partly',
      [
        'e2e/src/sdk/snapshots.test.ts',
        'starts sandboxes that go on from it, each on its own, and lasts longer than its source',
      ],
      'with memory, of sandboxes in gVisor; `memory: false` is refused',
    ],
    ['GET /snapshots', 'yes', [SNAPSHOTS, 'come page by page, newest first']],
    [
      'POST /sandboxes/{sandboxID}/fork',
      'partly',
      [
        'e2e/src/sdk/snapshots.test.ts',
        'makes sandboxes of one: each goes on where it was, with its own token, and sees no writes of the others',
      ],
      'of sandboxes in gVisor',
    ],
    [
      'GET /health',
      'yes',
      ['services/api/src/openapi/fuzz.integration.test.ts', 'finds no undocumented answer and no crash'],
    ],
  ],
};
