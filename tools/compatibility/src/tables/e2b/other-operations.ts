import type { Table } from '../../model.ts';

const SNAPSHOTS = 'services/api/src/e2b/snapshots/snapshots.integration.test.ts';
const BUILD = '501; `Template.build` needs it';
const TAGS = '501';
const VOLUME = '501; `Volume` needs it';
const CONTENT = '501; `Volume` needs it for files';
const SECRET = '501; `Secret` needs it';

export const templates: Table = {
  title: 'Templates, builds and tags',
  what: 'operation',
  items: [
    ['GET /templates', 'partly', [SNAPSHOTS, 'do not mix'], 'pools, and templates without a pool; not their builds'],
    [
      'GET /templates/{templateID}',
      'partly',
      ['services/api/src/openapi/fuzz.integration.test.ts', 'finds no undocumented answer and no crash'],
      'without builds; only the fuzz test calls it',
    ],
    [
      'GET /templates/aliases/{alias}',
      'yes',
      ['e2e/src/sdk/lifecycle.test.ts', 'Template.exists tells which templates a tenant may use'],
    ],
    [
      'DELETE /templates/{templateID}',
      'partly',
      [SNAPSHOTS, 'are made, listed, started from and deleted'],
      'deletes snapshots; a template is deleted where it was made, and gets 403',
    ],
    ['POST /v3/templates', 'no', BUILD],
    ['GET /templates/{templateID}/files/{hash}', 'no', BUILD],
    ['POST /v2/templates/{templateID}/builds/{buildID}', 'no', BUILD],
    ['GET /templates/{templateID}/builds/{buildID}/status', 'no', BUILD],
    ['GET /templates/{templateID}/builds/{buildID}/logs', 'no', '501'],
    ['POST /v2/templates', 'no', '501; clients of before `POST /v3/templates` need it'],
    ['POST /templates', 'no', '501; E2B has removed it'],
    ['POST /templates/{templateID}', 'no', '501; E2B has removed it'],
    ['POST /templates/{templateID}/builds/{buildID}', 'no', '501; E2B has removed it'],
    ['GET /v2/templates', 'no', 'not served'],
    ['GET /default-templates', 'no', 'not served'],
    ['PATCH /v2/templates/{templateID}', 'no', '501; `e2b template publish` needs it'],
    ['PATCH /templates/{templateID}', 'no', '501'],
    ['POST /templates/tags', 'no', TAGS],
    ['DELETE /templates/tags', 'no', TAGS],
    ['GET /templates/{templateID}/tags', 'no', TAGS],
    ['GET /templates/{templateID}/tags/count', 'no', 'not served'],
    ['GET /templates/{templateID}/tags/exists', 'no', 'not served'],
    ['GET /templates/{templateID}/tags/groups', 'no', 'not served'],
    ['GET /templates/{templateID}/tags/{tag}/assignments', 'no', 'not served'],
  ],
};

export const volumes: Table = {
  title: 'Volumes',
  what: 'operation',
  items: [
    ['POST /volumes', 'no', VOLUME],
    ['GET /volumes', 'no', VOLUME],
    ['GET /volumes/{volumeID}', 'no', VOLUME],
    ['DELETE /volumes/{volumeID}', 'no', VOLUME],
    ['GET /volumecontent/{volumeID}/path', 'no', CONTENT],
    ['PATCH /volumecontent/{volumeID}/path', 'no', CONTENT],
    ['DELETE /volumecontent/{volumeID}/path', 'no', CONTENT],
    ['GET /volumecontent/{volumeID}/dir', 'no', CONTENT],
    ['POST /volumecontent/{volumeID}/dir', 'no', CONTENT],
    ['GET /volumecontent/{volumeID}/file', 'no', CONTENT],
    ['PUT /volumecontent/{volumeID}/file', 'no', CONTENT],
  ],
};

export const secrets: Table = {
  title: 'Secrets',
  what: 'operation',
  items: [
    ['POST /secrets', 'no', SECRET],
    ['GET /secrets', 'no', SECRET],
    ['GET /secrets/{secretID}', 'no', SECRET],
    ['POST /secrets/{secretID}', 'no', SECRET],
    ['DELETE /secrets/{secretID}', 'no', SECRET],
  ],
};

const KEYS = '501; Sandlot manages keys at `/api/v1/keys`';
const NODES = '501; nodes are those of the cluster';

export const administration: Table = {
  title: 'Teams, keys and administration',
  what: 'operation',
  items: [
    ['GET /teams', 'no', '501; `e2b auth` needs it'],
    ['GET /teams/{teamID}/metrics', 'no', '501'],
    ['GET /teams/{teamID}/metrics/max', 'no', '501'],
    ['GET /api-keys', 'no', KEYS],
    ['POST /api-keys', 'no', KEYS],
    ['PATCH /api-keys/{apiKeyID}', 'no', KEYS],
    ['DELETE /api-keys/{apiKeyID}', 'no', KEYS],
    ['POST /access-tokens', 'no', '501; E2B issues none any more'],
    ['DELETE /access-tokens/{accessTokenID}', 'no', '501; E2B issues none any more'],
    ['GET /nodes', 'no', NODES],
    ['GET /nodes/{nodeID}', 'no', NODES],
    ['POST /nodes/{nodeID}', 'no', NODES],
    ['GET /admin/sandboxes/running-counts', 'no', '501'],
    ['POST /admin/teams/{teamID}/sandboxes/kill', 'no', '501'],
    ['POST /admin/teams/{teamID}/builds/cancel', 'no', '501'],
    ['POST /admin/teams/{teamID}/api-keys', 'no', '501'],
    ['DELETE /admin/teams/{teamID}/api-keys/{apiKeyID}', 'no', '501'],
  ],
};

const EVENTS = 'not served; the lifecycle events are on NATS and at `/api/v1/events`';

export const events: Table = {
  title: 'Events and webhooks',
  what: 'operation',
  items: [
    ['GET /events/sandboxes', 'no', EVENTS],
    ['GET /events/sandboxes/{sandboxID}', 'no', EVENTS],
    ['POST /events/webhooks', 'no', 'not served'],
    ['GET /events/webhooks', 'no', 'not served'],
    ['GET /events/webhooks/{webhookID}', 'no', 'not served'],
    ['PATCH /events/webhooks/{webhookID}', 'no', 'not served'],
    ['DELETE /events/webhooks/{webhookID}', 'no', 'not served'],
    ['GET /events/webhooks/{webhookID}/deliveries', 'no', 'not served'],
    ['GET /events/webhooks/{webhookID}/stats', 'no', 'not served'],
  ],
};
