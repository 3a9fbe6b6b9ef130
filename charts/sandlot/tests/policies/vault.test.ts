import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { accountOf, readTypeWarnings, startStage, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Stage } from './stage.ts';

const VAULT = 'sandlot-system-vault';
const KEYS = 'sandlot-system-keys';
const POLICY = 'sandlot-controllers-secrets';
const values = { egress: { enabled: true, credentials: { enabled: true } } };
const [api, tenant] = [accountOf('api'), 'sandlot.dev/tenant'];
const MARK = { 'sandlot.dev/egress-credential': 'true' };
const STORED = { 'sandlot.dev/stored-for': 'team-a/box' };

let stage: Stage;
let objects: readonly Rendered[];
beforeAll(async () => {
  objects = await render(values);
  stage = await startStage({ [VAULT]: {}, [KEYS]: {} }, values);
  const roles = ['Role', 'RoleBinding'].flatMap((kind) =>
    ['sandlot-api-vault', 'sandlot-api-keys'].map((name) => find(objects, kind, name)),
  );
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: roles });
  const { code, stderr } = await stage.plane.kubectl(['apply', '--server-side', '-f', '-'], list);
  expect([code, stderr.replaceAll(/^.*serverside-applied$/gm, '').trim()]).toEqual([0, '']);
  for (const body of [secret, headers, foreign]) await stage.send({ method: 'POST', path: getPath(VAULT), body });
  await waitForRefusal(() => create(foreign));
});
afterAll(() => stage.stop());

interface Draft {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly type: string;
  readonly metadata: { readonly name: string; readonly labels?: object; readonly annotations?: object };
}

const build = (type: string, metadata: Draft['metadata']): Draft => ({ apiVersion: 'v1', kind: 'Secret', type, metadata });
const secret = build('sandlot.dev/vault-secret', { name: 'secret-a', labels: { ...MARK, [tenant]: 'team-a' } });
const headers = build('sandlot.dev/egress-headers', { name: 'egress-u', labels: MARK, annotations: STORED });
const foreign = build('Opaque', { name: 'foreign' });
const rename = ({ type, metadata }: Draft, name: string): Draft => build(type, { ...metadata, name });

const getPath = (namespace: string, name?: string): string =>
  `/api/v1/namespaces/${namespace}/secrets${name === undefined ? '' : `/${name}`}?${name === undefined ? '' : 'dryRun=All'}`;
const create = (body: Draft, namespace = VAULT): Promise<Answer> =>
  stage.send({ method: 'POST', path: `${getPath(namespace)}dryRun=All`, body, as: api });
const patch = ({ metadata: { name } }: Draft, body: object): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: getPath(VAULT, name), body, as: api });
const remove = ({ metadata: { name } }: Draft): Promise<Answer> =>
  stage.send({ method: 'DELETE', path: getPath(VAULT, name), as: api });

describe('the API', () => {
  it.each<readonly [string, () => Promise<Answer>]>([
    ['create a Secret of its choice in the vault', () => create(rename(foreign, 'other'))],
    ['create the token of a ServiceAccount in the vault', () => create(build('kubernetes.io/service-account-token', { name: 'secret-t', labels: { ...MARK, [tenant]: 'a' }, annotations: { 'kubernetes.io/service-account.name': 'default' } }))],
    ['create an API key in the vault', () => create(build('sandlot.dev/api-key', { name: 'k', labels: { 'sandlot.dev/api-key': 'true' } }))],
    ['create variables of a claim in the vault', () => create(build('Opaque', { name: 'envs-u', annotations: STORED }))],
    ['create a secret elsewhere', () => create(rename(secret, 'secret-b'), KEYS)],
    ['create headers elsewhere', () => create(rename(headers, 'egress-v'), KEYS)],
    ['create a secret that no namespace has', () => create(build(secret.type, { name: 'secret-b', labels: MARK }))],
    ['create headers that no claim has', () => create(build(headers.type, { name: 'egress-v', labels: MARK }))],
    ['create headers under the name of a secret', () => create(rename(headers, 'secret-b'))],
    ['give a secret to another namespace', () => patch(secret, { metadata: { labels: { [tenant]: 'team-b' } } })],
    ['give headers to another claim', () => patch(headers, { metadata: { annotations: { 'sandlot.dev/stored-for': 'team-b/box' } } })],
    ['change another Secret in the vault', () => patch(foreign, { data: { a: 'eA==' } })],
    ['delete another Secret in the vault', () => remove(foreign)],
  ])('cannot %s', async (_, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain('(rule controllers of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });

  it.each<readonly [string, () => Promise<Answer>, number]>([
    ['create a secret', () => create(rename(secret, 'secret-b')), 201],
    ['give a secret another version', () => patch(secret, { data: { value: 'eA==' }, metadata: { annotations: { 'sandlot.dev/vault-secret': '{}' } } }), 200],
    ['delete a secret', () => remove(secret), 200],
    ['store headers of a claim', () => create(rename(headers, 'egress-v')), 201],
    ['add and drop headers of a claim', () => patch(headers, { data: { 'h-1-0': 'eA==', 'h-0-0': null } }), 200],
    ['delete headers of a claim that is gone', () => remove(headers), 200],
    ['create an API key where these are', () => create(build('sandlot.dev/api-key', { name: 'k', labels: { 'sandlot.dev/api-key': 'true' } }), KEYS), 201],
  ])('can %s', async (_, attempt, status) => {
    expect(await attempt()).toMatchObject({ status });
  });
});

it('the policy has no expression that the API server warns about', async () => {
  expect(await readTypeWarnings(stage, find(objects, 'ValidatingAdmissionPolicy', POLICY))).toEqual([]);
});

it('the policy holds in the vault where the release serves some namespaces', async () => {
  const some = await render({ ...values, watchNamespaces: ['team-a'] });
  expect(find(some, 'ValidatingAdmissionPolicyBinding', POLICY).spec).toMatchObject({
    matchResources: { namespaceSelector: { matchExpressions: [{ values: ['team-a', VAULT] }] } },
  });
});
