import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAIM_UID, HASH, MEMBER, PLACE, object, ownedBy } from './objects.ts';
import { release } from '../chart.ts';
import { accountOf, buildPath, startStage, waitForRefusal } from './stage.ts';
import type { Metadata } from './objects.ts';
import type { Answer } from './requests.ts';
import type { Draft, Stage } from './stage.ts';

const REFUSED = '(rule controllers of docs/security/admission-policies.md)';
const of = (kind: string, labels: object = {}): Metadata => ({ labels, ...ownedBy(kind) });

const [sandboxer, pooler, claimer, api] = ['sandbox-controller', 'warmpool-controller', 'claim-controller', 'api'] as const;

const PROTECTED = 'sandlot.dev/protects';
const PROTECTS = { [PROTECTED]: 'template' };

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ [PLACE]: {} });
  await waitForRefusal(() => stage.tryCreate(object('Sandbox', {}), accountOf('warmpool-controller')));
  await waitForRefusal(() => stage.tryCreate(object('Service', {}), accountOf('sandbox-controller')));
  await waitForRefusal(() => stage.tryCreate(object('NetworkPolicy', {}), accountOf('claim-controller')));
  await waitForRefusal(() => stage.tryCreate(object('SandboxClaim', {}), accountOf('api')));
  await waitForRefusal(() => stage.tryCreate(object('SandboxWarmPool', alias), accountOf('api')));
  await grantSecrets();
  await waitForRefusal(() => stage.tryCreate(secret('other', {}, 'Opaque'), accountOf('api')));
  await waitForRefusal(() => stage.tryCreate(secret('other', {}, 'Opaque'), accountOf('sandbox-controller')));
  const owner = await stage.create(pool);
  const template = await stage.create(object('SandboxTemplate', { name: 'owner' }));
  for (const draft of [...Object.values(present), buildMember(owner), buildGolden(template), buildFormer(template)]) await stage.create(draft);
  await stage.create(buildPodOf('Sandbox', await stage.create(object('Sandbox', { name: 'owner' }))));
  await stage.create(buildPodOf('SandboxWarmPool', owner));
  await waitForRefusal(patch(present.written, { spec: otherPod }, pooler));
});

afterAll(() => stage.stop());

/** In the cluster the API and the claim-controller have these rights in namespaces of their own. */
async function grantSecrets(): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const path = `/apis/${group}/v1/namespaces/${PLACE}`;
  const metadata = { name: 'secrets' };
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['create', 'patch', 'delete'] }];
  await stage.send({ method: 'POST', path: `${path}/roles`, body: { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules } });
  const subjects = [api, claimer, sandboxer].map((name) => ({ kind: 'ServiceAccount', namespace: release.namespace, name: `${release.name}-${name}` }));
  const roleRef = { apiGroup: group, kind: 'Role', name: 'secrets' };
  const binding = { apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, subjects, roleRef };
  await stage.send({ method: 'POST', path: `${path}/rolebindings`, body: binding });
}

const buildMember = (pool: string): Draft =>
  object('Sandbox', { name: 'member', labels: { [MEMBER]: 'x' }, ...ownedBy('SandboxWarmPool', pool) });
const member = buildMember('');
const GOLDEN = { 'sandlot.dev/golden': 'x' };
const buildGolden = (template: string): Draft =>
  object('Sandbox', { name: 'golden', labels: GOLDEN, ...ownedBy('SandboxTemplate', template) });
/** The policy of a template as earlier releases made it. */
const buildFormer = (template: string): Draft => object('NetworkPolicy', { name: 'former', ...ownedBy('SandboxTemplate', template) });

/** A Pod with the label of a Sandbox that has this owner. */
const buildPodOf = (kind: string, uid: string): Draft => object('Pod', { name: `of-${kind.toLowerCase()}`, labels: { [HASH]: 'x' }, ...ownedBy(kind, uid) }, SIZED);
const sized = (cpu: string): object => ({ containers: [{ name: 'main', image: 'busybox', resources: { requests: { cpu } } }] });
const SIZED = sized('100m') as Metadata;

const pool = object('SandboxWarmPool', { name: 'owner' }, { stuckMember: {} });
const alias = { annotations: { 'sandlot.dev/aliases': 'base' } };
const nightly = { name: 'nightly', cron: '0 22 * * *', durationSeconds: 3600, replicas: 5 };

const KEY = { 'sandlot.dev/api-key': 'true' };
const STORED = { annotations: { 'sandlot.dev/stored-for': 'team-a/box' } };
const secret = (name: string, metadata: Metadata, type: string): Draft => ({ ...object('Secret', { name, ...metadata }), type });
const TOKEN = 'kubernetes.io/service-account-token';
const IDENTITY = 'sandlot.dev/runtime-identity';
/** The Secret with the key of a Sandbox. */
const keyOf = (kind: string, labels: object = { [HASH]: 'x' }): Draft => ({
  ...secret('box-runtime-x', of(kind, labels), IDENTITY),
  immutable: true,
  data: { 'identity.key': 'eA==' },
});

/** Objects that exist, besides the member of a pool. */
const present = {
  authored: object('Sandbox', { name: 'authored' }),
  stray: object('Sandbox', { name: 'stray', labels: { [MEMBER]: 'x' } }),
  given: object('Sandbox', { name: 'given', labels: { [CLAIM_UID]: 'u' } }),
  ownPod: object('Pod', { name: 'own' }, sized('100m') as Metadata),
  offered: object('Pod', { name: 'offered', labels: { 'agents.x-k8s.io/adoptable': 'true' } }, sized('100m') as Metadata),
  keptDisk: object('PersistentVolumeClaim', { name: 'kept', labels: { [HASH]: 'x' } }),
  ownDisk: object('PersistentVolumeClaim', { name: 'own-disk' }),
  ownPolicy: object('NetworkPolicy', { name: 'own-policy' }),
  keptPolicy: object('NetworkPolicy', { name: 'kept-policy', labels: PROTECTS }),
  asked: object('SandboxClaim', { name: 'asked', labels: { team: 'a', 'agents.x-k8s.io/sandbox-name': 'x' } }),
  expiring: object('SandboxClaim', { name: 'expiring' }, { lifecycle: { shutdownPolicy: 'Delete' } }),
  written: object('SandboxTemplate', { name: 'written' }),
  ownSecret: { ...object('Secret', { name: 'own-secret' }), type: 'Opaque' },
  key: { ...object('Secret', { name: 'key', labels: KEY }), type: 'sandlot.dev/api-key' },
  stored: { ...object('Secret', { name: 'envs-u', ...STORED }), type: 'Opaque' },
} as const;

type Move = readonly [service: string, what: string, attempt: () => Promise<Answer>];

const create = (draft: Draft, service: string) => () => stage.tryCreate(draft, accountOf(service));
const patch = (draft: Draft, body: object, service: string) => () =>
  stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as: accountOf(service) });
const resize = (draft: Draft, service: string) => () =>
  stage.send({ method: 'PATCH', path: `${buildPath(draft)}/resize?dryRun=All`, body: { spec: sized('200m') }, as: accountOf(service) });
const remove = (draft: Draft, service: string) => () =>
  stage.send({ method: 'DELETE', path: `${buildPath(draft)}?dryRun=All`, as: accountOf(service) });

const theirs = { automountServiceAccountToken: false, containers: [{ name: 'main', image: 'theirs' }] };
const otherPod = { podTemplate: { spec: theirs } };
const adoption = { metadata: { labels: { [MEMBER]: null, [CLAIM_UID]: 'u' }, ...ownedBy('SandboxClaim') } };
const suspended = { metadata: { annotations: { 'sandlot.dev/suspended-by': 'API' } }, spec: { operatingMode: 'Suspended' } };

const forbidden: readonly Move[] = [
  [sandboxer, 'change the Pod of a Sandbox', patch(present.authored, { spec: otherPod }, sandboxer)],
  [sandboxer, 'give a Sandbox to a claim', patch(member, adoption, sandboxer)],
  [sandboxer, 'create a Pod without a Sandbox', create(object('Pod', { labels: { [HASH]: 'x' } }), sandboxer)],
  [sandboxer, 'create a Pod without the label', create(object('Pod', of('Sandbox')), sandboxer)],
  [sandboxer, "change another user's Pod", patch(present.ownPod, { metadata: { labels: { [HASH]: 'x' } } }, sandboxer)],
  [sandboxer, "resize another user's Pod", resize(present.ownPod, sandboxer)],
  [sandboxer, 'resize a Pod that was offered', resize(present.offered, sandboxer)],
  [sandboxer, 'resize a Pod that has the label and another owner', resize(buildPodOf('SandboxWarmPool', ''), sandboxer)],
  [sandboxer, "delete another user's Pod", remove(present.ownPod, sandboxer)],
  [sandboxer, 'delete a disk that was kept', remove(present.keptDisk, sandboxer)],
  [sandboxer, "delete another user's disk", remove(present.ownDisk, sandboxer)],
  [sandboxer, 'open a port of all nodes', create(object('Service', of('Sandbox', { [HASH]: 'x' }), { clusterIP: undefined, type: 'NodePort', ports: [{ port: 80 }] }), sandboxer)],
  [sandboxer, 'take over an address', create(object('Service', of('Sandbox', { [HASH]: 'x' }), { externalIPs: ['10.0.0.1'], ports: [{ port: 80 }] }), sandboxer)],
  [sandboxer, 'create a Secret of its choice', create({ ...keyOf('Sandbox'), type: 'Opaque' }, sandboxer)],
  [sandboxer, 'create a token of a ServiceAccount', create(secret('box-runtime-t', { ...of('Sandbox', { [HASH]: 'x' }), annotations: { 'kubernetes.io/service-account.name': 'default' } }, TOKEN), sandboxer)],
  [sandboxer, 'create a key without a Sandbox', create(secret('box-runtime-x', { labels: { [HASH]: 'x' } }, IDENTITY), sandboxer)],
  [sandboxer, 'create a key of another kind of owner', create(keyOf('SandboxClaim'), sandboxer)],
  [sandboxer, 'create a key without the label', create(keyOf('Sandbox', {}), sandboxer)],
  [sandboxer, 'create a key that can be changed', create({ ...keyOf('Sandbox'), immutable: false }, sandboxer)],
  [sandboxer, 'put something else beside a key', create({ ...keyOf('Sandbox'), data: { 'identity.key': 'eA==', token: 'eA==' } }, sandboxer)],
  [sandboxer, "change a user's Secret", patch(present.ownSecret, { data: { a: 'eA==' } }, sandboxer)],
  [sandboxer, "delete a user's Secret", remove(present.ownSecret, sandboxer)],
  [sandboxer, 'delete an API key', remove(present.key, sandboxer)],
  [pooler, 'create a Sandbox without a pool', create(object('Sandbox', { labels: { [MEMBER]: 'x' } }), pooler)],
  [pooler, 'create a golden Sandbox without a template', create(object('Sandbox', { labels: GOLDEN }), pooler)],
  [pooler, 'create a Sandbox of a template that nothing marks', create(object('Sandbox', of('SandboxTemplate')), pooler)],
  [pooler, 'change a golden Sandbox', patch(buildGolden(''), { metadata: { annotations: { a: 'b' } } }, pooler)],
  [claimer, 'adopt a golden Sandbox', patch(buildGolden(''), adoption, claimer)],
  [pooler, 'change a Sandbox of a user', patch(present.authored, { metadata: { labels: { [MEMBER]: 'x' } } }, pooler)],
  [pooler, 'delete a Sandbox of a user', remove(present.authored, pooler)],
  [pooler, 'delete a Sandbox of a claim', remove(present.given, pooler)],
  [pooler, 'write a NetworkPolicy without an owner', create(object('NetworkPolicy', {}), pooler)],
  [pooler, 'write a NetworkPolicy for all Pods', create(object('NetworkPolicy', of('SandboxTemplate'), { podSelector: {} }), pooler)],
  [pooler, "change another user's NetworkPolicy", patch(present.ownPolicy, { metadata: of('SandboxTemplate') }, pooler)],
  [pooler, "delete another user's NetworkPolicy", remove(present.ownPolicy, pooler)],
  [pooler, "mark another user's NetworkPolicy", patch(present.ownPolicy, { metadata: { labels: PROTECTS } }, pooler)],
  [pooler, 'remove the mark of a NetworkPolicy', patch(present.keptPolicy, { metadata: { labels: { [PROTECTED]: null } } }, pooler)],
  [pooler, 'write a marked NetworkPolicy for all Pods', create(object('NetworkPolicy', { labels: PROTECTS }, { podSelector: {} }), pooler)],
  [claimer, 'create a Sandbox without a claim', create(object('Sandbox', {}), claimer)],
  [claimer, 'take a Sandbox of a user', patch(present.authored, adoption, claimer)],
  [claimer, 'move a Sandbox to another claim', patch(present.given, { metadata: { labels: { [CLAIM_UID]: 'v' } } }, claimer)],
  [claimer, 'delete a Sandbox of a user', remove(present.authored, claimer)],
  [claimer, 'delete a member of a pool', remove(member, claimer)],
  [claimer, "change another user's NetworkPolicy", patch(present.ownPolicy, { metadata: of('SandboxClaim') }, claimer)],
  [api, 'change the Pod of a Sandbox', patch(present.authored, { spec: otherPod }, api)],
  [claimer, 'change what a claim asks for', patch(present.asked, { spec: { envs: [{ name: 'A', value: 'x' }] } }, claimer)],
  [claimer, 'send a claim to another pool', patch(present.asked, { spec: { warmPoolRef: { name: 'other' } } }, claimer)],
  [claimer, 'label a claim', patch(present.asked, { metadata: { labels: { team: 'b' } } }, claimer)],
  [claimer, 'give a claim an owner', patch(present.asked, { metadata: ownedBy('SandboxTemplate') }, claimer)],
  [claimer, 'delete a claim that is to stay', remove(present.asked, claimer)],
  [claimer, 'delete an API key', remove(present.key, claimer)],
  [claimer, 'write a Secret', create(secret('envs-v', STORED, 'Opaque'), claimer)],
  [pooler, 'change the Pod of a template', patch(present.written, { spec: otherPod }, pooler)],
  [pooler, 'open the network of a template', patch(present.written, { spec: { networkPolicyManagement: 'Unmanaged' } }, pooler)],
  [pooler, 'give a template an owner', patch(present.written, { metadata: ownedBy('SandboxClaim') }, pooler)],
  [api, 'create a claim that counts for no key', create(object('SandboxClaim', {}), api)],
  [api, 'change what a claim asks for', patch(present.asked, { spec: { warmPoolRef: { name: 'other' } } }, api)],
  [api, 'create a pool with an owner', create(object('SandboxWarmPool', ownedBy('SandboxTemplate')), api)],
  [api, 'create a pool under the alias of a template', create(object('SandboxWarmPool', alias), api)],
  [api, 'create a pool with a schedule', create(object('SandboxWarmPool', {}, { schedules: [nightly] }), api)],
  [api, 'fill a pool from another template', patch(pool, { spec: { sandboxTemplateRef: { name: 'other' } } }, api)],
  [api, 'give a pool a schedule', patch(pool, { spec: { schedules: [nightly] } }, api)],
  [api, 'remove what a user asked for of a pool', patch(pool, { spec: { stuckMember: null } }, api)],
  [api, 'give a pool the alias of a template', patch(pool, { metadata: alias }, api)],
  [api, 'label a pool', patch(pool, { metadata: { labels: { team: 'b' } } }, api)],
  [api, 'give a pool an owner', patch(pool, { metadata: ownedBy('SandboxTemplate') }, api)],
  [api, 'create a token of a ServiceAccount', create(secret('envs-t', { annotations: { 'kubernetes.io/service-account.name': 'default', ...STORED.annotations } }, TOKEN), api)],
  [api, 'create a Secret of its choice', create(secret('other', {}, 'Opaque'), api)],
  [api, 'change a Secret that is no key', patch(present.ownSecret, { data: { a: 'eA==' } }, api)],
  [api, 'delete the variables of a claim', remove(present.stored, api)],
  [api, 'change the owner of a Sandbox', patch(member, { metadata: { ownerReferences: [] } }, api)],
];

const due: readonly Move[] = [
  [sandboxer, 'note the name of a Pod', patch(present.authored, { metadata: { annotations: { 'agents.x-k8s.io/pod-name': 'x' } } }, sandboxer)],
  [sandboxer, 'suspend a Sandbox', patch(present.authored, suspended, sandboxer)],
  [sandboxer, 'delete an expired Sandbox', remove(present.authored, sandboxer)],
  [sandboxer, 'create the Pod of a Sandbox', create(object('Pod', of('Sandbox', { [HASH]: 'x' })), sandboxer)],
  [sandboxer, 'take over a Pod that was offered', patch(present.offered, { metadata: of('Sandbox', { [HASH]: 'x' }) }, sandboxer)],
  [sandboxer, 'resize the Pod of a Sandbox', resize(buildPodOf('Sandbox', ''), sandboxer)],
  [sandboxer, 'create a disk that is kept', create(object('PersistentVolumeClaim', { labels: { [HASH]: 'x' } }), sandboxer)],
  [sandboxer, 'take a kept disk back', patch(present.keptDisk, { metadata: of('Sandbox', { [HASH]: 'x' }) }, sandboxer)],
  [sandboxer, 'create the Service of a Sandbox', create(object('Service', of('Sandbox', { [HASH]: 'x' })), sandboxer)],
  [sandboxer, 'create the key of a Sandbox', create(keyOf('Sandbox'), sandboxer)],
  [pooler, 'create a member', create(object('Sandbox', of('SandboxWarmPool', { [MEMBER]: 'x' })), pooler)],
  [pooler, 'create the golden Sandbox of a template', create(object('Sandbox', of('SandboxTemplate', GOLDEN)), pooler)],
  [pooler, 'delete the golden Sandbox of a template', remove(buildGolden(''), pooler)],
  [pooler, 'take over a stray', patch(present.stray, { metadata: ownedBy('SandboxWarmPool') }, pooler)],
  [pooler, 'delete a member', remove(member, pooler)],
  [pooler, 'write the NetworkPolicy of a template', create(object('NetworkPolicy', { labels: PROTECTS }), pooler)],
  [pooler, 'take a NetworkPolicy of an earlier release from its template', patch(buildFormer(''), { metadata: { labels: PROTECTS, ownerReferences: [] } }, pooler)],
  [pooler, 'delete the NetworkPolicy of a template that is gone', remove(present.keptPolicy, pooler)],
  [claimer, 'adopt a member', patch(member, adoption, claimer)],
  [claimer, 'create the Sandbox of a claim', create(object('Sandbox', of('SandboxClaim', { [CLAIM_UID]: 'u' })), claimer)],
  [claimer, 'create the Sandbox of a slot', create(object('Sandbox', { labels: { [CLAIM_UID]: 'u', 'sandlot.dev/claim-slot': '0' } }), claimer)],
  [claimer, 'reserve a Sandbox that failed', patch(present.given, { metadata: { ownerReferences: [], labels: { 'sandlot.dev/reserved-failed': 'true' } } }, claimer)],
  [claimer, 'delete a Sandbox of a claim', remove(present.given, claimer)],
  [claimer, 'write the baseline of a template', create(object('NetworkPolicy', { labels: PROTECTS }), claimer)],
  [claimer, 'write the NetworkPolicy of a claim', create(object('NetworkPolicy', of('SandboxClaim')), claimer)],
  [claimer, 'note on a claim what it did', patch(present.asked, { metadata: { annotations: { 'agents.x-k8s.io/sandbox-name': 'x' } } }, claimer)],
  [claimer, 'remove the old name of a Sandbox from a claim', patch(present.asked, { metadata: { labels: { 'agents.x-k8s.io/sandbox-name': null } } }, claimer)],
  [claimer, 'set the end of a claim', patch(present.asked, { spec: { lifecycle: { shutdownTime: '2030-01-01T00:00:00Z' } } }, claimer)],
  [claimer, 'delete an expired claim', remove(present.expiring, claimer)],
  [claimer, 'delete the variables of a claim', remove(present.stored, claimer)],
  [pooler, 'label a template', patch(present.written, { metadata: { labels: { 'agents.x-k8s.io/sandbox-template-ref-hash': 'x' } } }, pooler)],
  [api, 'create a claim of a key', create(object('SandboxClaim', { annotations: { 'sandlot.dev/api-key-id': 'k' } }), api)],
  [api, 'set the end of a claim', patch(present.asked, { spec: { lifecycle: { shutdownTime: '2030-01-01T00:00:00Z' } } }, api)],
  [api, 'delete a claim', remove(present.asked, api)],
  [api, 'create a pool', create(object('SandboxWarmPool', {}, { replicas: 3 }), api)],
  [api, 'scale a pool', patch(pool, { spec: { replicas: 3 } }, api)],
  [api, 'delete a pool', remove(pool, api)],
  [api, 'create an API key', create(secret('new-key', { labels: KEY }, 'sandlot.dev/api-key'), api)],
  [api, 'note who revoked an API key', patch(present.key, { metadata: { annotations: { by: 'me' } } }, api)],
  [api, 'revoke an API key', remove(present.key, api)],
  [api, 'store the variables of a claim', create(secret('envs-w', STORED, 'Opaque'), api)],
  [api, 'pause a Sandbox', patch(present.given, suspended, api)],
];

describe('the account of a service', () => {
  it.each([pooler, claimer, api])('%s resizes no Pod', async (service) => {
    const { status, message } = await resize(buildPodOf('Sandbox', ''), service)();
    expect([status, message]).toEqual([403, expect.stringContaining('cannot patch resource "pods/resize"')]);
  });

  it.each(forbidden)('%s cannot %s', async (_service, _what, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain(REFUSED);
    expect(status).toBe(403);
  });

  it.each(due)('%s can %s', async (_service, _what, attempt) => {
    expect(await attempt()).toMatchObject({ status: expect.toBeOneOf([200, 201]) as number });
  });

  it('claims new disks only, for which a namespace can be exempt', async () => {
    const copy = object('PersistentVolumeClaim', { labels: { [HASH]: 'x' } }, { volumeName: 'theirs' });
    expect((await stage.tryCreate(copy, accountOf(sandboxer))).message).toContain('(rule disks of ');
  });
});
