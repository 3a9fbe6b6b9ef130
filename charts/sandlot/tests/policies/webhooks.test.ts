import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { accountOf, readTypeWarnings, startStage, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Stage } from './stage.ts';

const HOOKS = 'sandlot-system-webhooks';
const KEYS = 'sandlot-system-keys';
const POLICY = 'sandlot-controllers-secrets';
const TYPE = 'sandlot.dev/webhook';
const values = { webhooks: { enabled: true } };
const [api, tenant] = [accountOf('api'), 'sandlot.dev/tenant'];
const MARK = { [TYPE]: 'true', [tenant]: 'team-a' };

let stage: Stage;
let objects: readonly Rendered[];
beforeAll(async () => {
  objects = await render(values);
  stage = await startStage({ [HOOKS]: {}, [KEYS]: {} }, values);
  const roles = ['Role', 'RoleBinding'].flatMap((kind) =>
    ['sandlot-api-webhooks', 'sandlot-api-keys'].map((name) => find(objects, kind, name)),
  );
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: roles });
  const { code, stderr } = await stage.plane.kubectl(['apply', '--server-side', '-f', '-'], list);
  expect([code, stderr.replaceAll(/^.*serverside-applied$/gm, '').trim()]).toEqual([0, '']);
  for (const body of [webhook, foreign]) await stage.send({ method: 'POST', path: getPath(HOOKS), body });
  await waitForRefusal(() => create(foreign));
});
afterAll(() => stage.stop());

interface Draft {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly type: string;
  readonly metadata: { readonly name: string; readonly labels?: object };
}

const build = (type: string, metadata: Draft['metadata']): Draft => ({ apiVersion: 'v1', kind: 'Secret', type, metadata });
const webhook = build(TYPE, { name: 'webhook-a', labels: MARK });
const foreign = build('Opaque', { name: 'foreign' });
const rename = ({ type, metadata }: Draft, name: string): Draft => build(type, { ...metadata, name });

const getPath = (namespace: string, name?: string): string =>
  `/api/v1/namespaces/${namespace}/secrets${name === undefined ? '' : `/${name}`}?${name === undefined ? '' : 'dryRun=All'}`;
const create = (body: Draft, namespace = HOOKS): Promise<Answer> =>
  stage.send({ method: 'POST', path: `${getPath(namespace)}dryRun=All`, body, as: api });
const patch = ({ metadata: { name } }: Draft, body: object): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: getPath(HOOKS, name), body, as: api });
const remove = ({ metadata: { name } }: Draft): Promise<Answer> =>
  stage.send({ method: 'DELETE', path: getPath(HOOKS, name), as: api });

describe('the API', () => {
  it.each<readonly [string, () => Promise<Answer>]>([
    ['create a Secret of its choice among webhooks', () => create(rename(foreign, 'other'))],
    ['create an API key among webhooks', () => create(build('sandlot.dev/api-key', { name: 'k', labels: { 'sandlot.dev/api-key': 'true' } }))],
    ['create a webhook elsewhere', () => create(rename(webhook, 'webhook-b'), KEYS)],
    ['create a webhook that no namespace has', () => create(build(TYPE, { name: 'webhook-b', labels: { [TYPE]: 'true' } }))],
    ['create a webhook under another name', () => create(rename(webhook, 'b'))],
    ['give a webhook to another namespace', () => patch(webhook, { metadata: { labels: { [tenant]: 'team-b' } } })],
    ['change another Secret among webhooks', () => patch(foreign, { data: { a: 'eA==' } })],
    ['delete another Secret among webhooks', () => remove(foreign)],
  ])('cannot %s', async (_, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain('(rule controllers of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });

  it.each<readonly [string, () => Promise<Answer>, number]>([
    ['create a webhook', () => create(rename(webhook, 'webhook-b')), 201],
    ['change a webhook', () => patch(webhook, { data: { webhook: 'eA==' } }), 200],
    ['delete a webhook', () => remove(webhook), 200],
    ['create an API key where these are', () => create(build('sandlot.dev/api-key', { name: 'k', labels: { 'sandlot.dev/api-key': 'true' } }), KEYS), 201],
  ])('can %s', async (_, attempt, status) => {
    expect(await attempt()).toMatchObject({ status });
  });
});

it('the policy has no expression that the API server warns about', async () => {
  expect(await readTypeWarnings(stage, find(objects, 'ValidatingAdmissionPolicy', POLICY))).toEqual([]);
});
