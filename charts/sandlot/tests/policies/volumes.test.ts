import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { find, render } from '../chart.ts';
import type { Rendered } from '../chart.ts';
import { accountOf, readTypeWarnings, startStage, users, waitForRefusal } from './stage.ts';
import type { Draft, Stage } from './stage.ts';
import type { Answer } from './requests.ts';

const values = { volumes: { storageClass: 'shared' } };
const controller = accountOf('volume-controller');
const ID = '11111111-2222-4333-8444-555555555555';
const OURS = { 'app.kubernetes.io/managed-by': 'sandlot-volume-controller' };
const NAME = 'sandlot-volumes';

let stage: Stage;
let objects: readonly Rendered[];
let image: string;

beforeAll(async () => {
  objects = await render(values);
  const { spec } = find(objects, 'Deployment', 'sandlot-volume-controller');
  image = /"name":"VOLUME_SERVER_IMAGE","value":"([^"]+)"/.exec(JSON.stringify(spec))?.[1] ?? '';
  stage = await startStage({ 'team-a': {} }, values);
  await waitForRefusal(() => write('services', { metadata: { name: 'other' }, spec: { ports: [{ port: 1 }] } }));
});

afterAll(() => stage.stop());

const PATHS = { services: '/api/v1', persistentvolumeclaims: '/api/v1', deployments: '/apis/apps/v1' } as const;
const KINDS = { services: 'Service', persistentvolumeclaims: 'PersistentVolumeClaim', deployments: 'Deployment' } as const;

function write(plural: keyof typeof PATHS, object: object, as: string = controller): Promise<Answer> {
  const apiVersion = PATHS[plural].replace(/^\/apis?\//, '');
  const path = `${PATHS[plural]}/namespaces/team-a/${plural}?dryRun=All`;
  return stage.send({ method: 'POST', path, body: { apiVersion, kind: KINDS[plural], ...object }, as });
}

const container = { name: 'file-server', securityContext: { allowPrivilegeEscalation: false } };
const podSpec = {
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true },
  volumes: [{ name: 'volumes', persistentVolumeClaim: { claimName: NAME } }],
};

function server(pod: object = {}, ownContainer: object = {}): object {
  const spec = { ...podSpec, containers: [{ ...container, image, ...ownContainer }], ...pod };
  const selector = { matchLabels: { app: 'x' } };
  return { metadata: { name: NAME, labels: OURS }, spec: { selector, template: { metadata: { labels: { app: 'x' } }, spec } } };
}

describe('the account of the volume-controller', () => {
  it('makes a file server, its Service and its disk', async () => {
    const disk = { accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } };
    const metadata = { name: NAME, labels: OURS };
    expect(await write('deployments', server())).toMatchObject({ status: 201 });
    expect(await write('services', { metadata, spec: { ports: [{ port: 8080 }] } })).toMatchObject({ status: 201 });
    expect(await write('persistentvolumeclaims', { metadata, spec: disk })).toMatchObject({ status: 201 });
  });

  it.each<readonly [string, () => Promise<Answer>]>([
    ['a Service of another name', () => write('services', { metadata: { name: 'mine', labels: OURS }, spec: { ports: [{ port: 1 }] } })],
    ['a Service without its label', () => write('services', { metadata: { name: NAME }, spec: { ports: [{ port: 1 }] } })],
    ['a program of another image', () => write('deployments', server({}, { image: 'evil' }))],
    ['a program with a token', () => write('deployments', server({ automountServiceAccountToken: true }))],
    ['a program with the account of another', () => write('deployments', server({ serviceAccountName: 'robot' }))],
    ['a program that is root', () => write('deployments', server({ securityContext: {} }))],
    ['a program that may gain privilege', () => write('deployments', server({}, { securityContext: {} }))],
    ['a program that adds a capability', () => write('deployments', server({}, { securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['SYS_ADMIN'] } } }))],
    ['a program on the network of its node', () => write('deployments', server({ hostNetwork: true }))],
    ['a program with a folder of its node', () => write('deployments', server({ volumes: [{ name: 'v', hostPath: { path: '/' } }] }))],
    ['a program with a Secret', () => write('deployments', server({ volumes: [{ name: 'v', secret: { secretName: 'keys' } }] }))],
    ['a program with a variable from a Secret', () => write('deployments', server({}, { env: [{ name: 'K', valueFrom: { secretKeyRef: { name: 'keys', key: 'k' } } }] }))],
    ['a program that starts with another', () => write('deployments', server({ initContainers: [{ name: 'i', image: 'evil' }] }))],
  ])('cannot make %s', async (_, attempt) => {
    const { status, message } = await attempt();
    expect(message).toContain('(rule controllers of docs/security/admission-policies.md)');
    expect(status).toBe(403);
  });
});

describe('a Sandbox that mounts the disk with all volumes', () => {
  function sandbox(kind: 'Sandbox' | 'SandboxTemplate', mount: object, more: object = {}): Draft {
    const spec = {
      automountServiceAccountToken: false,
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: NAME } }],
      containers: [{ name: 'main', image: 'busybox', volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }], ...more }],
    };
    return { kind, metadata: { name: 'box', namespace: 'team-a' }, spec: { podTemplate: { spec } } };
  }

  it.each(['Sandbox', 'SandboxTemplate'] as const)('may have one volume of it: %s', async (kind) => {
    expect((await stage.tryCreate(sandbox(kind, { subPath: ID }), users.tenant)).message).toBe('');
  });

  it.each([
    ['all of it', {}],
    ['the uploads', { subPath: '.uploads' }],
    ['a folder below a volume', { subPath: `${ID}/a` }],
    ['a path that a variable makes', { subPathExpr: '$(WHERE)' }],
    ['a path above', { subPath: `${ID}x` }],
  ])('may not have %s, by any author', async (_, mount) => {
    for (const kind of ['Sandbox', 'SandboxTemplate'] as const)
      expect((await stage.tryCreate(sandbox(kind, mount), users.tenant)).message).toContain('(rule volumes of ');
  });
});

it('the policy has no expression that the API server warns about', async () => {
  const policy = find(objects, 'ValidatingAdmissionPolicy', 'sandlot-controllers-volumes');
  expect(await readTypeWarnings(stage, policy)).toEqual([]);
});
