import type { Table } from '../../model.ts';
import { NOT_BUILT } from './not-built.ts';

const BUILDS = 'services/api/src/e2b/builds/builds.integration.test.ts';
const PROGRESS = 'services/api/src/e2b/builds/progress/progress.integration.test.ts';
const NEEDS_BUILDER = 'in an installation that builds templates, else 403';
const BUILT = 'services/api/src/e2b/templates/built/built.integration.test.ts';
const TEMPLATES = 'services/api/src/e2b/templates/templates.integration.test.ts';
const DEFAULT_TAG = [TEMPLATES, 'are `default` alone, for the stock client as well'] as const;
const TAGS = [BUILT, 'lead to the build that the target has, move, and go, with the stock client'] as const;
const ONE_TAG =
  'what no build made has the tag `default` alone, a named snapshot those of its name; of a tag only the last build is kept';
const PUBLISHED = [
  'services/api/src/e2b/templates/public/public.integration.test.ts',
  'starts sandboxes of another team by name, team, tag and id, from a copy that has no more than the Pod',
] as const;
const PUBLISHES = 'templates that were built, where others get nothing but their Pod; else 400';
const VOLUME_TESTS = 'services/api/src/e2b/volumes/volumes.integration.test.ts';
const VOLUME = [VOLUME_TESTS, 'are created, listed, connected to and destroyed, each by its own team'] as const;
const CONTENT = [VOLUME_TESTS, 'have files and directories'] as const;
const HAS_CLASS = 'with `volumes.storageClass`, else 403';
const OWNERS = `uid and gid cannot be changed; ${HAS_CLASS}`;
const SECRETS = [
  'services/api/src/e2b/secrets/secrets.integration.test.ts',
  'are created, listed, updated and deleted by the stock client, which never sees their values',
] as const;
const VAULT = 'with `egress.credentials.enabled`, else 403';

export const templates: Table = {
  title: 'Templates, builds and tags',
  what: 'operation',
  items: [
    [
      'GET /templates',
      'partly',
      [TEMPLATES, 'have the same templates, newest first, in one answer and page by page'],
      'pools, and templates without a pool; `spawnCount` is 0 and `lastSpawnedAt` null',
    ],
    [
      'GET /v2/templates',
      'partly',
      [TEMPLATES, 'have the same templates, newest first, in one answer and page by page'],
      'as `GET /templates`',
    ],
    ['GET /default-templates', 'yes', [TEMPLATES, 'of all teams is empty: each template is of one team']],
    [
      'GET /templates/{templateID}',
      'partly',
      [
        TEMPLATES,
        'has the fields of the list and the one build that it has, which was ready when the template was made',
      ],
      'what no build made has one build',
    ],
    [
      'GET /templates/aliases/{alias}',
      'yes',
      ['e2e/src/sdk/lifecycle.test.ts', 'Template.exists tells which templates a tenant may use'],
    ],
    [
      'DELETE /templates/{templateID}',
      'partly',
      [BUILT, 'takes all its tags and builds, once no sandbox uses it'],
      'deletes snapshots, and templates that were built; others are deleted where they were made, and get 403',
    ],
    ['POST /v3/templates', 'partly', [BUILDS, 'makes a build that waits, with an object for each tag'], NEEDS_BUILDER],
    [
      'GET /templates/{templateID}/files/{hash}',
      'partly',
      [
        'services/api/src/e2b/builds/files/files.integration.test.ts',
        'go to the builder as they are, with no API key but a signed URL on the origin of the client',
      ],
      NEEDS_BUILDER,
    ],
    [
      'POST /v2/templates/{templateID}/builds/{buildID}',
      'partly',
      [BUILDS, 'gives it its steps once: the same again changes nothing, and another is refused'],
      NEEDS_BUILDER,
    ],
    [
      'GET /templates/{templateID}/builds/{buildID}/status',
      'partly',
      [PROGRESS, 'has the log page by page, and an empty page at its end'],
      NEEDS_BUILDER,
    ],
    [
      'GET /templates/{templateID}/builds/{buildID}/logs',
      'partly',
      [PROGRESS, 'the log of a build can be read from both ends, and from a time'],
      NEEDS_BUILDER,
    ],
    ['POST /v2/templates', 'partly', [BUILDS, 'of an older client gets what that one reads'], NEEDS_BUILDER],
    ['POST /templates', 'no', '501; E2B has removed it', NOT_BUILT],
    ['POST /templates/{templateID}', 'no', '501; E2B has removed it', NOT_BUILT],
    ['POST /templates/{templateID}/builds/{buildID}', 'no', '501; E2B has removed it', NOT_BUILT],
    ['PATCH /v2/templates/{templateID}', 'partly', PUBLISHED, PUBLISHES],
    ['PATCH /templates/{templateID}', 'partly', PUBLISHED, PUBLISHES],
    ['POST /templates/tags', 'partly', TAGS, ONE_TAG],
    ['DELETE /templates/tags', 'partly', TAGS, ONE_TAG],
    ['GET /templates/{templateID}/tags', 'partly', TAGS, ONE_TAG],
    ['GET /templates/{templateID}/tags/count', 'partly', DEFAULT_TAG, ONE_TAG],
    [
      'GET /templates/{templateID}/tags/exists',
      'partly',
      [TEMPLATES, 'are looked up in the form in which templates have them'],
      ONE_TAG,
    ],
    ['GET /templates/{templateID}/tags/groups', 'partly', DEFAULT_TAG, ONE_TAG],
    ['GET /templates/{templateID}/tags/{tag}/assignments', 'partly', DEFAULT_TAG, ONE_TAG],
  ],
};

export const volumes: Table = {
  title: 'Volumes',
  what: 'operation',
  items: [
    ['POST /volumes', 'partly', VOLUME, HAS_CLASS],
    ['GET /volumes', 'partly', VOLUME, HAS_CLASS],
    ['GET /volumes/{volumeID}', 'partly', VOLUME, HAS_CLASS],
    ['DELETE /volumes/{volumeID}', 'partly', VOLUME, `409 while sandboxes mount it; ${HAS_CLASS}`],
    ['GET /volumecontent/{volumeID}/path', 'partly', CONTENT, HAS_CLASS],
    ['PATCH /volumecontent/{volumeID}/path', 'partly', CONTENT, OWNERS],
    ['DELETE /volumecontent/{volumeID}/path', 'partly', CONTENT, HAS_CLASS],
    ['GET /volumecontent/{volumeID}/dir', 'partly', CONTENT, HAS_CLASS],
    ['POST /volumecontent/{volumeID}/dir', 'partly', CONTENT, OWNERS],
    ['GET /volumecontent/{volumeID}/file', 'partly', CONTENT, HAS_CLASS],
    ['PUT /volumecontent/{volumeID}/file', 'partly', CONTENT, OWNERS],
  ],
};

export const secrets: Table = {
  title: 'Secrets',
  what: 'operation',
  items: [
    ['POST /secrets', 'partly', SECRETS, VAULT],
    ['GET /secrets', 'partly', SECRETS, VAULT],
    ['GET /secrets/{secretID}', 'partly', SECRETS, VAULT],
    ['POST /secrets/{secretID}', 'partly', SECRETS, VAULT],
    ['DELETE /secrets/{secretID}', 'partly', SECRETS, VAULT],
  ],
};

const USAGE = 'services/api/src/usage/usage.integration.test.ts';
const TEAMS = 'services/api/src/e2b/teams.integration.test.ts';
const TOKENS = [
  'services/api/src/e2b/unsupported.integration.test.ts',
  'access tokens are gone: none is made, and there is none to delete',
] as const;
const KEYS = 'services/api/src/e2b/keys/keys.integration.test.ts';
const ADMIN = 'services/api/src/e2b/admin/admin.integration.test.ts';
const ON_ADMIN_PORT = 'on the admin port, with an API key of the role admin; else 403';
const OWN_KEYS = [
  KEYS,
  'are those of the admin’s team, or of the team that he names, and a new one works at once',
] as const;
const CHANGED_KEYS = [KEYS, 'get another name, and are taken back'] as const;
const KEYS_OF_TEAM = [KEYS, 'of another team are not found by an admin who does not name it'] as const;
const SANDBOXES_OF_TEAM = [
  ADMIN,
  'counts the running sandboxes of each team, and kills all of one team, paused ones too',
] as const;
const NODES = [KEYS, 'are refused on both ports: %s'] as const;
const NO_NODES = '403: the API has no right to Nodes';

export const administration: Table = {
  title: 'Teams, keys and administration',
  what: 'operation',
  items: [
    [
      'GET /teams',
      'partly',
      [TEAMS, 'are its own, with the key itself and no other one'],
      'the team of the API key; a bearer token gets 401, so `e2b auth login` does not work',
    ],
    ['GET /teams/{teamID}/metrics', 'yes', [USAGE, 'are points five minutes apart, also where there was nothing']],
    ['GET /teams/{teamID}/metrics/max', 'yes', [USAGE, 'have a most of %s']],
    ['GET /api-keys', 'partly', OWN_KEYS, `${ON_ADMIN_PORT}; the mask has no part of the key`],
    ['POST /api-keys', 'partly', OWN_KEYS, ON_ADMIN_PORT],
    ['PATCH /api-keys/{apiKeyID}', 'partly', CHANGED_KEYS, ON_ADMIN_PORT],
    ['DELETE /api-keys/{apiKeyID}', 'partly', CHANGED_KEYS, ON_ADMIN_PORT],
    ['POST /access-tokens', 'refused', TOKENS, '410, as at E2B, which issues none any more'],
    ['DELETE /access-tokens/{accessTokenID}', 'refused', TOKENS, '404: there are none'],
    ['GET /nodes', 'refused', NODES, NO_NODES],
    ['GET /nodes/{nodeID}', 'refused', NODES, NO_NODES],
    ['POST /nodes/{nodeID}', 'refused', NODES, NO_NODES],
    ['GET /admin/sandboxes/running-counts', 'partly', SANDBOXES_OF_TEAM, ON_ADMIN_PORT],
    ['POST /admin/teams/{teamID}/sandboxes/kill', 'partly', SANDBOXES_OF_TEAM, ON_ADMIN_PORT],
    [
      'POST /admin/teams/{teamID}/builds/cancel',
      'partly',
      [ADMIN, 'ends the template builds of a team'],
      `${ON_ADMIN_PORT}; the builds are deleted, so their clients get 400`,
    ],
    ['POST /admin/teams/{teamID}/api-keys', 'partly', KEYS_OF_TEAM, ON_ADMIN_PORT],
    ['DELETE /admin/teams/{teamID}/api-keys/{apiKeyID}', 'partly', KEYS_OF_TEAM, ON_ADMIN_PORT],
  ],
};

const LISTED = ['services/api/src/e2b/events/events.integration.test.ts', '%s are read from the stream'] as const;
const KEPT = 'of sandboxes that clients created, for as long as the stream keeps them; offsets up to 10,000';
const HOOKS = [
  'services/api/src/e2b/webhooks/webhooks.integration.test.ts',
  'are created, listed, read, changed and deleted, and never show their secret',
] as const;
const DELIVERIES = [
  'services/webhooks/src/webhooks.integration.test.ts',
  'that fails is tried four times, then is a dead letter that a replay sends again; its neighbours wait for nothing',
] as const;
const NEEDS_WEBHOOKS = 'with `webhooks.enabled`, else 503';
const LAST = 'over the last 500 deliveries; with `webhooks.enabled`, else 503';

export const events: Table = {
  title: 'Events and webhooks',
  what: 'operation',
  items: [
    ['GET /events/sandboxes', 'partly', LISTED, KEPT],
    ['GET /events/sandboxes/{sandboxID}', 'partly', LISTED, KEPT],
    ['POST /events/webhooks', 'partly', HOOKS, NEEDS_WEBHOOKS],
    ['GET /events/webhooks', 'partly', HOOKS, NEEDS_WEBHOOKS],
    ['GET /events/webhooks/{webhookID}', 'partly', HOOKS, NEEDS_WEBHOOKS],
    ['PATCH /events/webhooks/{webhookID}', 'partly', HOOKS, NEEDS_WEBHOOKS],
    ['DELETE /events/webhooks/{webhookID}', 'partly', HOOKS, NEEDS_WEBHOOKS],
    ['GET /events/webhooks/{webhookID}/deliveries', 'partly', DELIVERIES, LAST],
    ['GET /events/webhooks/{webhookID}/stats', 'partly', DELIVERIES, LAST],
    [
      'POST /events/webhooks/{webhookID}/deliveries/{eventID}/replay',
      'partly',
      DELIVERIES,
      `Sandlot's own; ${NEEDS_WEBHOOKS}`,
    ],
  ],
};
