import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { accountOf, readTypeWarnings, startStage, users, waitForRefusal } from './stage.ts';
import type { Answer } from './requests.ts';
import type { Stage } from './stage.ts';

const values = { builds: { enabled: true, registry: { name: 'registry.example.com/sandlot' }, pool: { replicas: 1 } } };
const builder = accountOf('template-builder');
const BUILDS = '/apis/sandlot.dev/v1alpha1/namespaces/team-a/sandboxtemplatebuilds';
const EXTENSIONS = '/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team-a';
const UID = '8a8f1f0e-6b1c-4a5e-9d55-0c3f0d6b7e11';
const ofBuild = [{ apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxTemplateBuild', name: 'b', uid: UID, controller: true }];
const made = { 'sandlot.dev/template-build': UID };
const built = { ...made, 'sandlot.dev/built-by': 'template-build' };

let stage: Stage;
let objects: readonly Rendered[];

beforeAll(async () => {
  objects = await render(values);
  stage = await startStage({ 'team-a': {} }, values);
  await waitForRefusal(() => createTemplate('other', {}));
});

afterAll(() => stage.stop());

interface Metadata {
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly object[];
}

const spec = { podTemplate: { spec: { containers: [{ name: 'sandbox', image: 'busybox' }] } } };
const createTemplate = (name: string, metadata: Metadata, as: string = builder): Promise<Answer> =>
  stage.send({ method: 'POST', path: `${EXTENSIONS}/sandboxtemplates`, body: { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxTemplate', metadata: { name, ...metadata }, spec }, as });
const createClaim = (name: string, metadata: Metadata): Promise<Answer> =>
  stage.send({
    method: 'POST',
    path: `${EXTENSIONS}/sandboxclaims`,
    body: { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxClaim', metadata: { name, ...metadata }, spec: { sandboxTemplateRef: { name: 't' } } },
    as: builder,
  });
const change = (path: string, body: object): Promise<Answer> => stage.send({ method: 'PATCH', path, body, as: builder });
const remove = (path: string): Promise<Answer> => stage.send({ method: 'DELETE', path, as: builder });
const template = (name: string): string => `${EXTENSIONS}/sandboxtemplates/${name}`;

describe('the account of the template-builder', () => {
  it('writes templates that a build made, and those of its sandboxes, which it deletes', async () => {
    expect(await createTemplate('built', { labels: built })).toMatchObject({ status: 201 });
    expect(await change(template('built'), { spec })).toMatchObject({ status: 200 });
    expect(await createTemplate('steps', { labels: made, ownerReferences: ofBuild })).toMatchObject({ status: 201 });
    expect(await remove(template('steps'))).toMatchObject({ status: 200 });
  });

  it('makes claims for steps, and deletes them', async () => {
    expect(await createClaim('steps', { labels: made, ownerReferences: ofBuild })).toMatchObject({ status: 201 });
    expect(await remove(`${EXTENSIONS}/sandboxclaims/steps`)).toMatchObject({ status: 200 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['create a template without a build', () => createTemplate('mine', { labels: { 'sandlot.dev/built-by': 'template-build' } })],
    [
      'change a template that no build made',
      async () => {
        await createTemplate('theirs', {}, users.author);
        return change(template('theirs'), { spec: { podTemplate: { spec: { containers: [{ name: 'sandbox', image: 'evil' }] } } } });
      },
    ],
    ['delete a template that came out of a build', () => remove(template('built'))],
    ['create a claim that no build owns', () => createClaim('mine', { labels: made })],
    [
      'create a pool that no template owns',
      () => stage.send({ method: 'POST', path: `${EXTENSIONS}/sandboxwarmpools`, body: { apiVersion: 'extensions.agents.x-k8s.io/v1beta1', kind: 'SandboxWarmPool', metadata: { name: 'mine' }, spec: { replicas: 1, sandboxTemplateRef: { name: 'built' } } }, as: builder }),
    ],
  ])('cannot %s', async (_, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain('(rule controllers of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });
});

describe('a user', () => {
  const build = (metadata: object): object => ({ apiVersion: 'sandlot.dev/v1alpha1', kind: 'SandboxTemplateBuild', metadata, spec: { templates: [{ name: 'mine' }], image: 'debian:13' } });
  const send = (metadata: object): Promise<Answer> => stage.send({ method: 'POST', path: BUILDS, body: build(metadata), as: users.author });

  it('makes a build', async () => {
    expect(await send({ name: 'plain' })).toMatchObject({ status: 201 });
  });

  it.each([
    ['what the API writes on builds', { annotations: { 'sandlot.dev/from-template': 'x' } }],
    ['the label of a running build', { labels: { 'sandlot.dev/template-build': UID } }],
  ])('cannot forge %s', async (_, metadata) => {
    const { status, message } = await send({ name: 'forged', ...metadata });
    expect(message).toContain('(rule reserved-keys of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });
});

it.each(['builds', 'build-templates', 'build-claims', 'build-pools'])(
  'the policy for %s has no expression that the API server warns about',
  async (name) => {
    expect(await readTypeWarnings(stage, find(objects, 'ValidatingAdmissionPolicy', `sandlot-controllers-${name}`))).toEqual([]);
  },
);
