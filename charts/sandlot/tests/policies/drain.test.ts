import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withHibernation } from '../chart.ts';
import { PLACE, object } from './objects.ts';
import { accountOf, buildPath, startStage, users, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Draft, Stage } from './stage.ts';

const RESERVED = '(rule reserved-keys of docs/security/admission-policies.md)';
const REFUSED = '(rule controllers of docs/security/admission-policies.md)';
const memory = { labels: { 'sandlot.dev/memory': 'protected' } };
const budget = object('PodDisruptionBudget', { name: 'sandlot-memory', ...memory });
const boxer = accountOf('sandbox-controller');

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ [PLACE]: {} }, withHibernation);
  await waitForRefusal(() => stage.tryCreate(object('Pod', memory), users.tenant));
  await waitForRefusal(() => stage.tryCreate(object('PodDisruptionBudget', memory), users.tenant));
  await waitForRefusal(() => stage.tryCreate(object('PodDisruptionBudget', { name: 'other' }), boxer));
  await stage.create(object('Pod', { name: 'held', ...memory }));
  await stage.create(budget);
  await stage.create(object('PodDisruptionBudget', { name: 'theirs' }));
});

afterAll(() => stage.stop());

const patch = (draft: Draft, body: object, as: string): Promise<Answer> =>
  stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as });
const remove = (draft: Draft, as: string): Promise<Answer> =>
  stage.send({ method: 'DELETE', path: `${buildPath(draft)}?dryRun=All`, as });

describe('a tenant with edit rights in its namespace', () => {
  it.each<readonly [string, Draft]>([
    ['a Pod whose evictions wait', object('Pod', memory)],
    ['a budget that seems to be of the sandbox-controller', object('PodDisruptionBudget', { name: 'sandlot-memory', ...memory })],
  ])('cannot create %s', async (_, draft) => {
    expect((await stage.tryCreate({ ...draft, metadata: { ...draft.metadata, name: 'new' } }, users.tenant)).message).toContain(RESERVED);
  });

  it.each([null, 'unsaved'])('cannot change the label of a Pod', async (value) => {
    const { message } = await patch(object('Pod', { name: 'held' }), { metadata: { labels: { 'sandlot.dev/memory': value } } }, users.tenant);
    expect(message).toContain(RESERVED);
  });

  it('cannot take the label off the budget, and has budgets of its own', async () => {
    expect((await patch(budget, { metadata: { labels: { 'sandlot.dev/memory': null } } }, users.tenant)).message).toContain(RESERVED);
    const own = object('PodDisruptionBudget', { name: 'own' }, { selector: { matchLabels: { app: 'x' } } });
    expect(await stage.tryCreate(own, users.tenant)).toMatchObject({ status: 201 });
  });
});

describe('the sandbox-controller', () => {
  it('can create and delete its budget', async () => {
    expect(await remove(budget, boxer)).toMatchObject({ status: 200 });
    await stage.send({ method: 'DELETE', path: buildPath(budget) });
    expect(await stage.tryCreate(budget, boxer)).toMatchObject({ status: 201 });
    await stage.create(budget);
  });

  const other = { selector: { matchLabels: { app: 'x' } } };
  it.each<readonly [string, () => Promise<Answer>]>([
    ['create one of another name', () => stage.tryCreate(object('PodDisruptionBudget', { name: 'other', ...memory }), boxer)],
    ['create one for other Pods', () => stage.tryCreate(object('PodDisruptionBudget', { name: 'sandlot-memory', ...memory }, other), boxer)],
  ])('cannot %s', async (_, attempt) => {
    expect((await attempt()).message).toContain(REFUSED);
  });

  it('has no right to delete one of another author, nor to change its own', async () => {
    expect(await remove(object('PodDisruptionBudget', { name: 'theirs' }), boxer)).toMatchObject({ status: 403 });
    expect(await patch(budget, { spec: { minAvailable: 0 } }, boxer)).toMatchObject({ status: 403 });
  });
});
