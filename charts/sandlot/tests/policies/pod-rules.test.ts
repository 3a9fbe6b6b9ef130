import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { release, render } from '../chart.ts';
import { MEMBER, object, ownedBy } from './objects.ts';
import { podThreats } from './pod-threats.ts';
import type { Fields, PodThreat } from './pod-threats.ts';
import { accountOf, buildPath, readTypeWarnings, startStage, users, waitForRefusal } from './stage.ts';
import type { Draft, Stage } from './stage.ts';

const VALUES = { policies: { pods: { runtimeClasses: ['', 'gvisor'], csiDrivers: ['inline.example.com'] } } };
const SPEC = { containers: [{ name: 'main', image: 'busybox' }] };

let stage: Stage;

beforeAll(async () => {
  const places = { 'team-a': {}, [release.namespace]: {}, lab: { 'sandlot.dev/policy-exempt': 'host.volumes' }, free: { 'sandlot.dev/policy-exempt': 'all' } };
  stage = await startStage(places, VALUES);
  const intruder = { hostNetwork: true };
  for (const name of ['nvidia', 'gvisor']) {
    const runtime = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler: 'runc' };
    await stage.send({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body: runtime });
  }
  await waitForRefusal(() => stage.tryCreate(sandbox(intruder)));
  await waitForRefusal(() => stage.tryCreate(pod(intruder), accountOf('sandbox-controller')));
  await waitForRefusal(() => stage.tryCreate(pod({}, { annotations: { [CNI]: 'x' } })));
  await waitForRefusal(() => stage.tryCreate(claim({ additionalPodMetadata: { annotations: { [CNI]: 'x' } } })));
});

afterAll(() => stage.stop());

const CNI = 'k8s.v1.cni.cncf.io/networks';

function sandbox(fields: Fields, rest: Fields = {}): Draft {
  const podTemplate = { spec: { ...SPEC, ...fields } };
  return { kind: 'Sandbox', metadata: { name: 'box', namespace: 'team-a' }, spec: { podTemplate, ...rest } };
}

function template(fields: Fields, rest: Fields = {}): Draft {
  return { ...sandbox(fields, rest), kind: 'SandboxTemplate' };
}

/** A Pod as the sandbox-controller creates it. */
function pod(fields: Fields, metadata: Fields = {}): Draft {
  const labels = { 'agents.x-k8s.io/sandbox-name-hash': '374de8f5' };
  return { kind: 'Pod', metadata: { name: 'box', namespace: 'team-a', labels, ...ownedBy('Sandbox'), ...metadata }, spec: { ...SPEC, ...fields } };
}

function claim(spec: Fields): Draft {
  const rest = { warmPoolRef: { name: 'pool' }, ...spec };
  return { kind: 'SandboxClaim', metadata: { name: 'claim', namespace: 'team-a' }, spec: rest };
}

const inPlace = (draft: Draft, namespace: string): Draft => ({ ...draft, metadata: { ...draft.metadata, namespace } });

type Case = readonly [rule: string, what: string, fields: Fields];

function listCases(pick: (threat: PodThreat) => Readonly<Record<string, Fields>>): Case[] {
  return podThreats.flatMap((threat) =>
    Object.entries(pick(threat)).map(([what, fields]): Case => [threat.rule, what, fields]),
  );
}

const denied = listCases(({ deny }) => deny);
const deniedInTemplates = listCases(({ deny, denyTemplates }) => ({ ...deny, ...denyTemplates }));
const allowed = listCases(({ allow }) => allow ?? {});

describe('policies on what a sandbox may be', () => {
  it('compile without a warning of the type checker', async () => {
    const policies = (await render(VALUES)).filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    for (const policy of policies) expect(await readTypeWarnings(stage, policy), policy.metadata.name).toEqual([]);
  });

  it.each(deniedInTemplates)('rule %s refuses a Sandbox and a template with %s', async (rule, _what, fields) => {
    for (const draft of [sandbox(fields), template(fields)]) {
      const { status, message } = await stage.tryCreate(draft, users.tenant);
      expect(message).toContain(`(rule ${rule} of docs/security/admission-policies.md)`);
      expect(status).toBe(403);
    }
  });

  it.each(allowed)('rule %s lets a Sandbox and a template have %s', async (_rule, _what, fields) => {
    for (const draft of [sandbox(fields), template(fields)]) {
      expect(await stage.tryCreate(draft, users.tenant)).toMatchObject({ status: 201, message: '' });
    }
  });

  it.each(denied)('rule %s refuses a Pod of the sandbox-controller with %s', async (rule, _what, fields) => {
    const { message } = await stage.tryCreate(pod(fields), accountOf('sandbox-controller'));
    expect(message).toContain(`(rule ${rule} of `);
  });

  it.each(allowed)('rule %s lets a Pod of the sandbox-controller have %s', async (_rule, _what, fields) => {
    const { message } = await stage.tryCreate(pod(fields), accountOf('sandbox-controller'));
    expect(message).toBe('');
  });

  it('see through the older version of the API', async () => {
    const draft = { ...sandbox({ hostPID: true }), apiVersion: 'agents.x-k8s.io/v1alpha1' };
    expect((await stage.tryCreate(draft, users.tenant)).message).toContain('(rule host of ');
  });

  it('leave other Pods of the tenant alone', async () => {
    const draft = { ...pod({ hostNetwork: true }), metadata: { name: 'own', namespace: 'team-a' } };
    expect((await stage.tryCreate(draft, users.tenant)).status).toBe(201);
  });

  it('refuse a capability for an ephemeral container in a Pod of a sandbox', async () => {
    await stage.create(pod({}, { name: 'debugged', ownerReferences: [] }));
    const debug = async (securityContext: Fields): Promise<string> => {
      const ephemeralContainers = [{ name: 'debug', image: 'busybox', securityContext }];
      const path = `${buildPath(pod({}, { name: 'debugged', namespace: 'team-a' }))}/ephemeralcontainers?dryRun=All`;
      return (await stage.send({ method: 'PATCH', path, body: { spec: { ephemeralContainers } } })).message;
    };
    expect(await debug({ capabilities: { add: ['SYS_PTRACE'] } })).toContain('(rule privilege of ');
    expect(await debug({})).toBe('');
  });
});

describe('policies on metadata and disks', () => {
  const annotated = (key: string): Fields => ({ podTemplate: { metadata: { annotations: { [key]: 'x' } }, spec: SPEC } });
  const keys = [
    CNI,
    'iam.amazonaws.com/role',
    'eks.amazonaws.com/audience',
    'io.kubernetes.cri-o.Devices',
    'dev.gvisor.spec.mount.x.source',
    'cdi.k8s.io/gpu',
    'io.katacontainers.config.hypervisor.path',
  ];

  it.each(keys)('refuse the annotation %s on Sandboxes, claims and Pods', async (key) => {
    const drafts = [sandbox({}, annotated(key)), template({}, annotated(key)), claim({ additionalPodMetadata: { annotations: { [key]: 'x' } } })];
    const answers = await Promise.all(drafts.map((draft) => stage.tryCreate(draft, users.tenant)));
    const own = await stage.tryCreate(pod({}, { annotations: { [key]: 'x' } }), accountOf('sandbox-controller'));
    for (const { message } of [...answers, own]) expect(message).toContain('(rule metadata of ');
  });

  it('refuse an annotation that switches AppArmor off', async () => {
    const { message } = await stage.tryCreate(sandbox({}, annotated('container.apparmor.security.beta.kubernetes.io/main')), users.tenant);
    expect(message).toContain('(rule metadata of ');
  });

  it('let harmless annotations and labels pass', async () => {
    const metadata = { annotations: { note: 'first', 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' }, labels: { team: 'a', app: 'notebook' } };
    expect((await stage.tryCreate(sandbox({}, { podTemplate: { metadata, spec: SPEC } }), users.tenant)).status).toBe(201);
  });

  it('refuse labels that give a role of a cloud', async () => {
    const metadata = { labels: { 'azure.workload.identity/use': 'true' } };
    const answer = await stage.tryCreate(sandbox({}, { podTemplate: { metadata, spec: SPEC } }), users.tenant);
    expect(answer.message).toContain('(rule metadata of ');
  });

  it.each([{ app: 'x' }, { 'app.kubernetes.io/component': 'gateway' }])(
    'refuse the labels %j of the platform in its own namespace, and let them pass elsewhere',
    async (labels) => {
      const podTemplate = { metadata: { labels }, spec: SPEC };
      for (const draft of [sandbox({}, { podTemplate }), template({}, { podTemplate })]) {
        const answer = await stage.tryCreate(inPlace(draft, release.namespace), users.tenant);
        expect(answer.message).toContain('labels by which the platform');
        expect((await stage.tryCreate(draft, users.tenant)).message).toBe('');
      }
      const own = { ...pod({}), metadata: { ...pod({}).metadata, labels: { ...labels, 'agents.x-k8s.io/sandbox-name-hash': '374de8f5' } } };
      const made = await stage.tryCreate(inPlace(own, release.namespace), accountOf('sandbox-controller'));
      expect(made.message).toContain('(rule metadata of ');
      expect((await stage.tryCreate(own, accountOf('sandbox-controller'))).message).toBe('');
      const other = { podTemplate: { metadata: { labels: { team: 'a' } }, spec: SPEC } };
      expect((await stage.tryCreate(inPlace(sandbox({}, other), release.namespace), users.tenant)).message).toBe('');
    },
  );

  const disk = (spec: Fields, metadata: Fields = {}): Fields => ({
    volumeClaimTemplates: [{ metadata: { name: 'd', ...metadata }, spec: { accessModes: ['ReadWriteOnce'], ...spec } }],
  });
  it.each<readonly [string, Fields]>([
    ['a volume of someone else', disk({ volumeName: 'theirs' })],
    ['a copy of another disk', disk({ dataSource: { kind: 'PersistentVolumeClaim', name: 'theirs' } })],
    ['a copy from another namespace', disk({ dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'theirs', namespace: 'b' } })],
    ['a binding that it claims to have', disk({}, { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } })],
  ])('refuse disks with %s in Sandboxes, templates and claims', async (_what, fields) => {
    for (const draft of [sandbox({}, fields), template({}, fields), claim(fields)]) {
      expect((await stage.tryCreate(draft, users.tenant)).message).toContain('(rule disks of ');
    }
  });
});

describe('a namespace with an exemption', () => {
  it('is exempt from the rules it names, and from no other', async () => {
    const hosts = { hostNetwork: true, volumes: [{ name: 'v', hostPath: { path: '/tmp' } }] };
    expect((await stage.tryCreate(inPlace(sandbox(hosts), 'lab'), users.tenant)).status).toBe(201);
    const privileged = { containers: [{ name: 'main', image: 'busybox', securityContext: { privileged: true } }] };
    const { message } = await stage.tryCreate(inPlace(sandbox(privileged), 'lab'), users.tenant);
    expect(message).toContain('(rule privilege of ');
    expect((await stage.tryCreate(inPlace(sandbox(privileged), 'free'), users.tenant)).status).toBe(201);
  });

  it('cannot exempt itself: its tenant may not write the label', async () => {
    const body = { metadata: { labels: { 'sandlot.dev/policy-exempt': 'all' } } };
    const path = '/api/v1/namespaces/team-a?dryRun=All';
    expect((await stage.send({ method: 'PATCH', path, body, as: users.tenant })).status).toBe(403);
  });
});

describe('an author who may not create Pods', () => {
  const volume = (source: Fields): Fields => ({ automountServiceAccountToken: false, volumes: [{ name: 'v', ...source }] });
  const variable = (fields: Fields): Fields => ({ containers: [{ name: 'main', image: 'busybox', ...fields }], automountServiceAccountToken: false });
  const reaches: readonly (readonly [string, string, Fields])[] = [
    ['accounts', 'a ServiceAccount', { serviceAccountName: 'robot', automountServiceAccountToken: false }],
    ['accounts', 'a ServiceAccount by the old name of the field', { serviceAccount: 'robot', automountServiceAccountToken: false }],
    ['references', 'a Secret as a volume', volume({ secret: { secretName: 'keys' } })],
    ['references', 'a Secret in a projected volume', volume({ projected: { sources: [{ secret: { name: 'keys' } }] } })],
    ['references', 'the disk of someone else', volume({ persistentVolumeClaim: { claimName: 'theirs' } })],
    ['references', 'a Secret as a variable', variable({ env: [{ name: 'K', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] })],
    ['references', 'a Secret as all variables', variable({ envFrom: [{ secretRef: { name: 'keys' } }] })],
  ];

  it.each(reaches)('breaks rule %s with %s, which an author who may create Pods can have', async (rule, _what, fields) => {
    for (const draft of [sandbox(fields), template(fields)]) {
      expect((await stage.tryCreate(draft, users.author)).message).toContain(`(rule ${rule} of `);
      expect((await stage.tryCreate(draft, users.tenant)).message).toBe('');
    }
  });

  it('does not keep the controllers from serving the templates of other authors', async () => {
    const spec = { podTemplate: { spec: { ...SPEC, serviceAccountName: 'robot' } } };
    const draft = object('Sandbox', { labels: { [MEMBER]: 'x' }, ...ownedBy('SandboxWarmPool') }, spec);
    expect((await stage.tryCreate(draft, accountOf('warmpool-controller'))).message).toBe('');
  });

  it('gets no token, also of the default ServiceAccount', async () => {
    expect((await stage.tryCreate(sandbox({}), users.author)).message).toContain('(rule accounts of ');
    expect((await stage.tryCreate(sandbox({ automountServiceAccountToken: false }), users.author)).message).toBe('');
    expect((await stage.tryCreate(template({}), users.author)).message).toBe('');
  });

  it('may not change a template that runs as a ServiceAccount, but may change its settings', async () => {
    await stage.create({ ...template({ serviceAccountName: 'robot' }), metadata: { name: 'robots', namespace: 'team-a' } });
    const path = `${buildPath({ ...template({}), metadata: { name: 'robots', namespace: 'team-a' } })}?dryRun=All`;
    const change = async (spec: Fields): Promise<string> =>
      (await stage.send({ method: 'PATCH', path, body: { spec }, as: users.author })).message;
    const containers = [{ name: 'main', image: 'theirs', command: ['cat', '/var/run/secrets/token'] }];
    expect(await change({ podTemplate: { spec: { containers } } })).toContain('(rule accounts of ');
    expect(await change({ ttlSeconds: 60 })).toBe('');
  });
});

describe('an author who may not read SandboxSnapshots', () => {
  const builder = 'builder';
  const [spec, trained] = [{ automountServiceAccountToken: false }, { restoreFrom: { snapshotName: 'trained' } }];

  beforeAll(async () => {
    const group = 'rbac.authorization.k8s.io';
    const metadata = { name: builder };
    const rules = [
      { apiGroups: ['agents.x-k8s.io', 'extensions.agents.x-k8s.io'], resources: ['sandboxes', 'sandboxtemplates'], verbs: ['create', 'patch'] },
      { apiGroups: ['sandlot.dev'], resources: ['sandboxsnapshots'], resourceNames: ['shared'], verbs: ['get'] },
    ];
    const path = `/apis/${group}/v1/namespaces/team-a`;
    await stage.send({ method: 'POST', path: `${path}/roles`, body: { apiVersion: `${group}/v1`, kind: 'Role', metadata, rules } });
    const roleRef = { apiGroup: group, kind: 'Role', name: builder };
    const subjects = [{ apiGroup: group, kind: 'User', name: builder }];
    await stage.send({ method: 'POST', path: `${path}/rolebindings`, body: { apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects } });
    await waitForRefusal(() => stage.tryCreate(sandbox({ ...spec, hostNetwork: true }), builder));
  });

  it('may not start a sandbox from the memory of one, but from those that it may read', async () => {
    const shared = { restoreFrom: { snapshotName: 'shared' } };
    for (const build of [sandbox, template]) {
      expect((await stage.tryCreate(build(spec, trained), builder)).message).toContain('(rule references of ');
      expect((await stage.tryCreate(build(spec, shared), builder)).message).toBe('');
      expect((await stage.tryCreate(build(spec, trained), users.author)).message).toBe('');
    }
  });

  it('may not have a template start from it later, but may change the rest of one that does', async () => {
    const named = (name: string, rest: Fields): Draft => ({ ...template(spec, rest), metadata: { name, namespace: 'team-a' } });
    for (const draft of [named('plain', {}), named('restored', trained)]) await stage.create(draft);
    const change = async (name: string, body: Fields): Promise<string> =>
      (await stage.send({ method: 'PATCH', path: `${buildPath(named(name, {}))}?dryRun=All`, body: { spec: body }, as: builder })).message;
    expect(await change('plain', trained)).toContain('(rule references of ');
    expect(await change('restored', { restoreFrom: { snapshotName: 'other' } })).toContain('(rule references of ');
    expect(await change('restored', { ttlSeconds: 60 })).toBe('');
    expect(await change('restored', { restoreFrom: null })).toBe('');
  });

  it('does not keep the controllers from serving such templates', async () => {
    const made = object('Sandbox', { labels: { [MEMBER]: 'x' }, ...ownedBy('SandboxWarmPool') }, trained);
    expect((await stage.tryCreate(made, accountOf('warmpool-controller'))).message).toBe('');
  });
});
