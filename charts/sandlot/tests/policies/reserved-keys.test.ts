import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAIM_UID, HASH, MEMBER, PLACE, object, ownedBy } from './objects.ts';
import type { Metadata } from './objects.ts';
import { accountOf, buildPath, startStage, users, waitForRefusal } from './stage.ts';
import type { Draft, Stage } from './stage.ts';

const REFUSED = '(rule reserved-keys of docs/security/admission-policies.md)';
const TEMPLATE_HASH = 'agents.x-k8s.io/sandbox-template-ref-hash';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ [PLACE]: {} });
  const forged = { labels: { [HASH]: 'x' } };
  await waitForRefusal(() => stage.tryCreate(object('Sandbox', forged), users.tenant));
  await waitForRefusal(() => stage.tryCreate(object('Service', forged), users.tenant));
});

afterAll(() => stage.stop());

const label = (key: string, value = 'x'): Metadata => ({ labels: { [key]: value } });
const note = (key: string, value = 'x'): Metadata => ({ annotations: { [key]: value } });

describe('a tenant with edit rights in its namespace', () => {
  const forgeries: readonly (readonly [string, Draft])[] = [
    ['a Sandbox that seems to be a member of a pool', object('Sandbox', label(MEMBER))],
    ['a Sandbox that a pool seems to own', object('Sandbox', ownedBy('SandboxWarmPool'))],
    ['a Sandbox that seems to be the golden one of a template', object('Sandbox', label('sandlot.dev/golden'))],
    ['a Sandbox that a template seems to own', object('Sandbox', ownedBy('SandboxTemplate'))],
    ['a snapshot from which members seem to start', object('SandboxSnapshot', ownedBy('SandboxTemplate'))],
    ['a Sandbox that seems to belong to a claim', object('Sandbox', label(CLAIM_UID))],
    ['a Sandbox that a claim seems to own', object('Sandbox', ownedBy('SandboxClaim'))],
    ['a Sandbox with a slot of a batch', object('Sandbox', label('sandlot.dev/claim-slot', '0'))],
    ['a Sandbox outside the network rules of its template', object('Sandbox', label('sandlot.dev/network', 'own'))],
    ['a Sandbox with an image that no claim asked for', object('Sandbox', note('sandlot.dev/inplace-image'))],
    ['a Sandbox with CPU that no claim asked for', object('Sandbox', note('sandlot.dev/inplace-cpu'))],
    ['a Pod that seems to have been resized', object('Pod', note('sandlot.dev/inplace-cpu'))],
    ['a Sandbox that seems to have started from a snapshot', object('Sandbox', note('sandlot.dev/start-memory'))],
    ['a snapshot of a Pod template of its choice', object('SandboxSnapshot', note('sandlot.dev/saved-template'))],
    ['a snapshot with a daemon of its choice', object('SandboxSnapshot', note('sandlot.dev/saved-runtime-image'))],
    ['a claim of an API key', object('SandboxClaim', note('sandlot.dev/api-key-id'))],
    ['a claim with the id of a sandbox of the API', object('SandboxClaim', label('sandlot.dev/sandbox-id'))],
    ['a claim with a Sandbox of its choice', object('SandboxClaim', note('agents.x-k8s.io/sandbox-name'))],
    ['a claim with a token of its choice', object('SandboxClaim', note('sandlot.dev/traffic-token-sha256'))],
    ['a claim whose rules seem to be in force', object('SandboxClaim', note('sandlot.dev/network-applied'))],
    ['a Pod that counts as a sandbox', object('Pod', label(HASH))],
    ['a Pod that selects the policy of a template', object('Pod', label(TEMPLATE_HASH))],
    ['a Pod that a Sandbox seems to own', object('Pod', ownedBy('Sandbox'))],
    ['a Pod that the sandbox-controller seems to have labelled', object('Pod', note('agents.x-k8s.io/propagated-labels'))],
    ['a Pod with the memory of a Sandbox, by annotation', object('Pod', note('sandlot.dev/restore-snapshot'))],
    ['a Pod with the memory of a Sandbox, by label', object('Pod', label('sandlot.dev/restore-snapshot'))],
    ['a Pod with a trace of its choice for its restore', object('Pod', note('sandlot.dev/restore-trace'))],
    ['a Pod with words of its own for the status of its Sandbox', object('Pod', note('sandlot.dev/save-problem'))],
    ['a Sandbox that a refresh seems to have woken', object('Sandbox', note('sandlot.dev/refresh'))],
    ['a snapshot by which a Sandbox seems to hibernate', object('SandboxSnapshot', ownedBy('Sandbox'))],
    ['a disk for the Sandbox of another user', object('PersistentVolumeClaim', label(HASH))],
    ['a disk that a Sandbox seems to own', object('PersistentVolumeClaim', ownedBy('Sandbox'))],
    ['a Service that a Sandbox seems to own', object('Service', ownedBy('Sandbox'))],
    ['a NetworkPolicy that seems to protect a template', object('NetworkPolicy', { labels: { 'sandlot.dev/protects': 'template' } })],
    ['a NetworkPolicy that a template seems to own', object('NetworkPolicy', ownedBy('SandboxTemplate'))],
  ];

  it.each(forgeries)('cannot create %s', async (_what, draft) => {
    const { status, message } = await stage.tryCreate(draft, users.tenant);
    expect(message).toContain(REFUSED);
    expect(status).toBe(403);
  });

  const honest: readonly (readonly [string, Draft])[] = [
    ['the metadata of agent-sandbox clients', object('SandboxClaim', { ...label('agents.x-k8s.io/created-by', 'python-client'), ...note('agents.x-k8s.io/client-first-requested-at') })],
    ['the trace context of clients', object('SandboxClaim', note('opentelemetry.io/trace-context', '{}'))],
    ['network rules of a claim', object('SandboxClaim', note('sandlot.dev/network', '{}'))],
    ['activity that a tool reports', object('Sandbox', note('sandlot.dev/last-activity-at'))],
    ['the name of a Pod', object('Sandbox', note('agents.x-k8s.io/pod-name', 'box'))],
    ['names of a template', object('SandboxTemplate', note('sandlot.dev/aliases'))],
    ['leftovers of agent-sandbox', object('Sandbox', note('api.agents.x-k8s.io/v1alpha1-sandbox-state'))],
    ['keys and owners of its own', object('Sandbox', { labels: { team: 'a' }, ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u' }] })],
    ['a snapshot of its own', object('SandboxSnapshot', label('team', 'a'))],
    ['a disk that it offers to a Sandbox', object('PersistentVolumeClaim', label('agents.x-k8s.io/adoptable', 'true'))],
  ];

  it.each(honest)('can write %s', async (_what, draft) => {
    expect((await stage.tryCreate(draft, users.tenant)).message).toBe('');
  });

  it('cannot change or remove what a service wrote, but everything else of the object', async () => {
    const uid = await stage.create(object('SandboxClaim', { name: 'owner' }));
    const own: Metadata = { labels: { [CLAIM_UID]: uid, [TEMPLATE_HASH]: 'x' }, ...note('sandlot.dev/start-memory'), ...ownedBy('SandboxClaim', uid) };
    const draft = object('Sandbox', { ...own, name: 'given' });
    await stage.create(draft);
    const patch = async (body: object, as: string): Promise<string> =>
      (await stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as })).message;
    const moves = [
      { metadata: { labels: { [TEMPLATE_HASH]: null } } },
      { metadata: { labels: { [CLAIM_UID]: 'other' } } },
      { metadata: { annotations: { 'sandlot.dev/start-memory': null } } },
      { metadata: { ownerReferences: [] } },
    ];
    for (const body of moves) expect(await patch(body, users.tenant)).toContain(REFUSED);
    expect(await patch({ metadata: { labels: { team: 'a' } }, spec: { ttlSeconds: 60 } }, users.tenant)).toBe('');
    expect(await patch({ metadata: { ownerReferences: [] } }, GARBAGE_COLLECTOR)).toBe('');
  });

  it('can replace a template although it leaves out the label of the controller', async () => {
    const draft = object('SandboxTemplate', { name: 'replaced', labels: { [TEMPLATE_HASH]: 'x' } });
    await stage.create(draft);
    const { message } = await stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body: { metadata: { labels: null } }, as: users.tenant });
    expect(message).toBe('');
  });

  it('cannot mark a Pod that exists for a restore', async () => {
    const draft = object('Pod', { name: 'plain' });
    await stage.create(draft);
    const body = { metadata: note('sandlot.dev/restore-snapshot') };
    const { message } = await stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as: users.tenant });
    expect(message).toContain(REFUSED);
  });

  it('cannot leave saved memory behind: the finalizer of a snapshot is not its to remove', async () => {
    const draft = object('SandboxSnapshot', { name: 'held', finalizers: ['sandlot.dev/snapshot-data', 'example.com/own'] });
    await stage.create(draft);
    const patch = async (body: object, as: string): Promise<string> =>
      (await stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as })).message;
    for (const finalizers of [null, [], ['example.com/own']])
      expect(await patch({ metadata: { finalizers } }, users.tenant)).toContain(REFUSED);
    expect(await patch({ metadata: { finalizers: ['sandlot.dev/snapshot-data'] }, spec: { ttlSeconds: 60 } }, users.tenant)).toBe('');
    const asAdministrator = { method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body: { metadata: { finalizers: null } } } as const;
    expect((await stage.send(asAdministrator)).message).toBe('');
  });

  it('cannot take a Pod out of the network rules of its template', async () => {
    const draft = object('Pod', { name: 'ruled', labels: { [HASH]: 'x', [TEMPLATE_HASH]: 'x' } });
    await stage.create(draft);
    const body = { metadata: { labels: { [TEMPLATE_HASH]: null } } };
    const { message } = await stage.send({ method: 'PATCH', path: `${buildPath(draft)}?dryRun=All`, body, as: users.tenant });
    expect(message).toContain(REFUSED);
  });
});

const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';

describe('the sandbox-controller', () => {
  it('marks the Pod that is to be restored', async () => {
    const key = 'sandlot.dev/restore-snapshot';
    const metadata = { labels: { [HASH]: 'x', [key]: 'u' }, ...note(key, 'u'), ...ownedBy('Sandbox') };
    expect((await stage.tryCreate(object('Pod', metadata), accountOf('sandbox-controller'))).message).toBe('');
  });
});

describe('the API', () => {
  it('marks its claims', async () => {
    const metadata = { ...label('sandlot.dev/sandbox-id'), ...note('sandlot.dev/api-key-id') };
    expect((await stage.tryCreate(object('SandboxClaim', metadata), accountOf('api'))).message).toBe('');
  });
});
