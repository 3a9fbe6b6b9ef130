import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { render, withHibernation } from '../chart.ts';
import { PLACE } from './objects.ts';
import { accountOf, readTypeWarnings, startStage, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Stage } from './stage.ts';

const REFUSED = '(rule controllers of docs/security/admission-policies.md)';
const KEY = 'sandlot.dev/snapshot-fingerprint';
const NODES = '/api/v1/nodes';
const saver = accountOf('snapshot-controller');

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ [PLACE]: {} }, withHibernation);
  const metadata = { name: 'one', labels: { 'node-role.kubernetes.io/worker': '', [KEY]: 'before' }, annotations: { owner: 'a' } };
  const node = { apiVersion: 'v1', kind: 'Node', metadata, spec: { podCIDR: '10.0.0.0/24' } };
  expect(await stage.send({ method: 'POST', path: NODES, body: node })).toMatchObject({ status: 201 });
  await waitForRefusal(change({ spec: { unschedulable: true } }));
});

afterAll(() => stage.stop());

const change = (body: object) => (): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: `${NODES}/one?dryRun=All`, body, as: saver });

describe('the account of the snapshot-controller', () => {
  it.each<readonly [string, object]>([
    ['set the fingerprint of a Node', { metadata: { labels: { [KEY]: 'after' } } }],
    ['remove the fingerprint of a Node', { metadata: { labels: { [KEY]: null } } }],
  ])('can %s', async (_, body) => {
    expect(await change(body)()).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, object]>([
    ['set another label of a Node', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }],
    ['change another label beside the fingerprint', { metadata: { labels: { [KEY]: 'after', 'node-role.kubernetes.io/worker': 'x' } } }],
    ['remove another label of a Node', { metadata: { labels: { 'node-role.kubernetes.io/worker': null } } }],
    ['annotate a Node', { metadata: { annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'false' } } }],
    ['remove an annotation of a Node', { metadata: { annotations: { owner: null } } }],
    ['cordon a Node', { spec: { unschedulable: true } }],
    ['taint a Node', { spec: { taints: [{ key: 'a', effect: 'NoExecute' }] } }],
    ['keep a Node from being deleted', { metadata: { finalizers: ['example.com/held'] } }],
    ['give a Node an owner', { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } }],
  ])('cannot %s', async (_, body) => {
    const { status, message } = await change(body)();
    expect(message).toContain(REFUSED);
    expect(status).toBe(403);
  });

  it('is the only one that this concerns', async () => {
    const asAdministrator = stage.send({ method: 'PATCH', path: `${NODES}/one?dryRun=All`, body: { spec: { unschedulable: true } } });
    expect(await asAdministrator).toMatchObject({ status: 200 });
  });
});

describe('the policies with hibernation', () => {
  it('compile without a warning of the type checker', async () => {
    const policies = (await render(withHibernation)).filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    const nodes = policies.filter(({ metadata }) => metadata.name.endsWith('-nodes'));
    expect(nodes).toHaveLength(1);
    for (const policy of nodes) expect(await readTypeWarnings(stage, policy), policy.metadata.name).toEqual([]);
  });
});
