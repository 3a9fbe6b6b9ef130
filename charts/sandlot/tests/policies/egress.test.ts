import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, release, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { accountOf, readTypeWarnings, startStage, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Stage } from './stage.ts';

const values = { egress: { enabled: true } };
const egress = accountOf('egress');
const PLACE = `/namespaces/${release.namespace}`;
const LEASES = `/apis/coordination.k8s.io/v1${PLACE}/leases`;
const SERVICES = `/api/v1${PLACE}/services`;
const POD = 'egress-sandlot-egress-6d5f-x2';

let stage: Stage;
let objects: readonly Rendered[];

beforeAll(async () => {
  objects = await render(values);
  stage = await startStage({ [release.namespace]: {} }, values);
  const own = ['Role', 'RoleBinding'].flatMap((kind) =>
    ['sandlot-egress-own', 'sandlot-sandbox-controller-egress'].map((name) => find(objects, kind, name)),
  );
  const services = ['sandlot-egress', 'sandlot-egress-inspect', 'sandlot-gateway'].map((name) => find(objects, 'Service', name));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...own, ...services] });
  const { code, stderr } = await stage.plane.kubectl(['apply', '--server-side', '-f', '-'], list);
  expect(stderr.replaceAll(/^.*serverside-applied$/gm, '').trim()).toBe('');
  expect(code).toBe(0);
  await stage.send({ method: 'POST', path: LEASES, body: lease('sandlot-claim-controller') });
  await waitForRefusal(() => create('other'));
});

afterAll(() => stage.stop());

const lease = (name: string): object => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name } });
const create = (name: string): Promise<Answer> => stage.send({ method: 'POST', path: LEASES, body: lease(name), as: egress });
const renew = (name: string, as?: string): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: `${LEASES}/${name}`, body: { spec: { holderIdentity: name } }, as });

describe('the account of egress', () => {
  it('writes the Lease of its Pod', async () => {
    expect(await create(POD)).toMatchObject({ status: 201 });
    expect(await renew(POD)).toMatchObject({ status: 200 });
    expect(await renew(POD, egress)).toMatchObject({ status: 200 });
  });

  it('writes one that is deleted with its Pod', async () => {
    const name = 'egress-sandlot-egress-6d5f-x3';
    const owner = { apiVersion: 'v1', kind: 'Pod', name: POD, uid: '8a8f1f0e-6b1c-4a5e-9d55-0c3f0d6b7e11' };
    const body = { ...lease(name), metadata: { name, ownerReferences: [owner] } };
    expect(await stage.send({ method: 'POST', path: LEASES, body, as: egress })).toMatchObject({ status: 201 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['take over the lease by which a controller leads', () => renew('sandlot-claim-controller', egress)],
    ['create one of another name', () => create('sandlot-warmpool-controller')],
    ['create one that only begins like its own', () => create('egress-other')],
  ])('cannot %s', async (_, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain('(rule controllers of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });

  it.each([
    ['sandlot-egress', 200],
    ['sandlot-egress-inspect', 200],
    ['sandlot-gateway', 403],
  ])('follows the Service %s by its name: %i', async (name, status) => {
    const path = `${SERVICES}?fieldSelector=metadata.name%3D${name}`;
    expect(await stage.send({ method: 'GET', path, as: egress })).toMatchObject({ status });
  });

  it('cannot list all Services, nor read Secrets', async () => {
    expect(await stage.send({ method: 'GET', path: SERVICES, as: egress })).toMatchObject({ status: 403 });
    expect(await stage.send({ method: 'GET', path: `/api/v1${PLACE}/secrets`, as: egress })).toMatchObject({ status: 403 });
  });
});

it('the policy for it has no expression that the API server warns about', async () => {
  expect(await readTypeWarnings(stage, find(objects, 'ValidatingAdmissionPolicy', 'sandlot-controllers-leases'))).toEqual([]);
});

it('the policy holds in the namespace of the release where the release serves others', async () => {
  const some = await render({ ...values, watchNamespaces: ['team-a'] });
  expect(find(some, 'ValidatingAdmissionPolicyBinding', 'sandlot-controllers-leases').spec).toMatchObject({
    matchResources: { namespaceSelector: { matchExpressions: [{ values: ['team-a', release.namespace] }] } },
  });
});
