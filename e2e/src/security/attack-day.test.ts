import { text } from 'node:stream/consumers';
import { sandboxClaims } from '@sandlot/api-types';
import { namespaces, pods } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runKubectlOrFail } from '../support/kubectl.ts';
import type { Call } from '../support/security/account.ts';
import {
  buildMarks,
  buildOwnMarks,
  buildReaches,
  draft,
  escapes,
  markNames,
  buildPath,
} from '../support/security/drafts.ts';
import { openScene, OURS, OWN, PORT, SECRET, THEIRS } from '../support/security/scene.ts';
import type { Scene } from '../support/security/scene.ts';
import {
  Belongings,
  buildEnv,
  callApi,
  listStatuses,
  openKey,
  sendBytes,
  waitForRefusal,
  waitForSandbox,
} from '../support/security/tenants.ts';
import { ask } from '../support/sdk/http.ts';
import { listProxyPlaces, listReachable, listServices, openOutside, readNodeAddress } from '../support/sdk/reach.ts';
import { eventually } from '../support/team.ts';

/** A public address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.78';
/** The test shares the tenants' namespaces with others. */
const prefix = `raid-${process.pid}`;

const stack = new AsyncDisposableStack();
let scene: Scene;
beforeAll(async () => {
  stack.use(await openOutside(OUTSIDE));
  scene = await openScene(stack, prefix);
});
afterAll(() => stack.disposeAsync());

describe('objects that would give a sandbox more than its tenant has', () => {
  it.each(escapes)('are refused with $what', async ({ rule, refused, allowed }) => {
    for (const one of refused)
      expect(await scene.belongings.try(one), one.kind).toContain(`(rule ${rule} of docs/security/`);
    for (const one of allowed) expect(await scene.belongings.try(one), one.kind).toBe('');
  });

  it.each(buildReaches('other'))(
    'are refused to an author who may create no Pods, with $what',
    async ({ rule, refused }) => {
      await using limited = new Belongings(scene.author, OURS);
      for (const one of refused) {
        expect(await limited.try(one), one.kind).toContain(`(rule ${rule} of docs/security/`);
        expect(await scene.belongings.try(one), one.kind).toBe('');
      }
      expect(await limited.try(draft('Sandbox'))).toBe('');
    },
  );

  it.each(markNames)('are refused as %s', async (name) => {
    const forged = buildMarks(scene.victim)[name];
    expect(await scene.belongings.try(forged)).toContain('(rule reserved-keys of docs/security/');
    expect(await scene.belongings.try(buildOwnMarks(forged.kind))).toBe('');
  });
});

describe('the API server', () => {
  const listSecretsIn = (namespace: string): Call => ({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/secrets`,
  });
  const patch = (path: string, body: object): Call => ({ method: 'PATCH', path: `${path}?dryRun=All`, body });
  const remove = (path: string): Call => ({ method: 'DELETE', path: `${path}?dryRun=All` });
  const exempt = { metadata: { labels: { 'sandlot.dev/policy-exempt': 'all' } } };
  const binding = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/sandlot-sandboxes';

  it.each<[string, () => Call]>([
    ['reads Secrets of the other tenant', () => listSecretsIn(THEIRS)],
    ['reads Secrets of the release', () => listSecretsIn('sandlot-system')],
    ['reads API keys', () => listSecretsIn('sandlot-system-keys')],
    ['reads stored variables', () => listSecretsIn('sandlot-system-envs')],
    ['reads Sandboxes of the other tenant', () => ({ method: 'GET', path: buildPath('Sandbox', THEIRS) })],
    [
      'wakes the Sandbox of the other tenant',
      () => patch(buildPath('Sandbox', THEIRS, scene.victim.sandbox), { spec: {} }),
    ],
    ['deletes the claim of the other tenant', () => remove(buildPath('SandboxClaim', THEIRS, scene.victim.claimName))],
    [
      'runs a command in the Pod of the other tenant',
      () => ({ method: 'POST', path: `${buildPath('Pod', THEIRS, scene.victim.sandbox)}/exec?command=id&stdout=true` }),
    ],
    [
      'takes a token of the other tenant',
      () => ({ method: 'POST', path: `/api/v1/namespaces/${THEIRS}/serviceaccounts/default/token`, body: {} }),
    ],
    [
      'sends the gateway elsewhere with a status',
      () => patch(`${buildPath('Sandbox', OURS, scene.box)}/status`, { status: { podIPs: [scene.victim.address] } }),
    ],
    ['exempts its namespace from the policies', () => patch(`/api/v1/namespaces/${OURS}`, exempt)],
    ['removes a policy', () => remove(binding)],
    ['makes a namespace', () => ({ method: 'POST', path: '/api/v1/namespaces?dryRun=All', body: {} })],
  ])('refuses a tenant who %s', async (_, call) => {
    expect(await scene.raider.send(call())).toMatchObject({ status: 403 });
    // The API server refuses a path that does not exist as well: the administrator shows that this one does.
    expect([403, 404]).not.toContain((await scene.administrator.send(call())).status);
  });

  it('lets the tenant do the same with what is its own', async () => {
    const own: Call[] = [
      listSecretsIn(OURS),
      { method: 'GET', path: buildPath('Sandbox', OURS) },
      patch(buildPath('Sandbox', OURS, scene.box), { metadata: { labels: { team: 'b' } } }),
      remove(buildPath('SandboxClaim', OURS, `${prefix}-box`)),
    ];
    for (const call of own) expect(await scene.raider.send(call)).toMatchObject({ status: 200 });
  });
});

describe('a claim that names what is in another namespace', () => {
  const theirVolume = async (): Promise<void> => {
    const metadata = { name: prefix, labels: { 'sandlot.dev/claimable-by': THEIRS } };
    const source = { hostPath: { path: `/var/lib/sandlot/${prefix}` }, persistentVolumeReclaimPolicy: 'Retain' };
    const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: prefix, ...source };
    const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata, spec };
    await runKubectlOrFail(['create', '-f', '-'], JSON.stringify(volume));
    stack.defer(async () => {
      await runKubectlOrFail(['delete', 'persistentvolume', prefix, '--wait=false']);
    });
  };

  it.each<[string, object, string]>([
    ['template', { sandboxTemplateRef: { name: 'code-interpreter-v1' } }, 'TemplateNotFound'],
    ['pool', { warmPoolRef: { name: 'code-interpreter-v1' } }, 'WarmPoolNotFound'],
    ['Secret', { warmPoolRef: { name: 'base' }, envs: [buildEnv(prefix)] }, `Secret "${prefix}" does not exist`],
    [
      'stored-variables',
      { warmPoolRef: { name: 'base' }, envs: [buildEnv('sandlot.dev/envs', 'env-0')] },
      'the API has not stored the variables of this claim',
    ],
  ])('gets nothing: a %s', async (what, spec, refusal) => {
    const name = `${prefix}-${what.toLowerCase()}`;
    await scene.belongings.claim(name, spec);
    expect(await waitForRefusal(scene.client, OURS, name)).toContain(refusal);
  });

  it('names what is there', async () => {
    const name = 'code-interpreter-v1';
    const paths = [buildPath('SandboxTemplate', THEIRS, name), buildPath('SandboxWarmPool', THEIRS, name)];
    for (const path of [...paths, `/api/v1/namespaces/${THEIRS}/secrets/${prefix}`])
      expect(await scene.administrator.send({ method: 'GET', path }), path).toMatchObject({ status: 200 });
  });

  it('gets no volume that is opened to someone else, but a disk of its own, under the rules of its own template', async () => {
    await theirVolume();
    const mount = (volume: object): object => ({
      sandboxTemplateRef: { name: prefix },
      dynamicVolumes: [{ mountPath: '/loot', ...volume }],
    });
    await scene.belongings.claim(`${prefix}-volume`, mount({ persistentVolumeName: prefix }));
    await scene.belongings.claim(`${prefix}-disk`, mount({ persistentVolumeClaimName: `${prefix}-own` }));
    const refusal = await waitForRefusal(scene.client, OURS, `${prefix}-volume`);
    expect(refusal).toContain('DynamicVolumesRejected');
    expect(refusal).toContain(`PersistentVolume "${prefix}" does not exist or is not open to namespace "${OURS}"`);
    const name = await waitForSandbox(scene.client, OURS, `${prefix}-disk`);
    const { metadata } = await scene.client.get(pods, { namespace: OURS, name });
    const hash = metadata.labels?.['agents.x-k8s.io/sandbox-template-ref-hash'];
    expect(hash).toMatch(/^[0-9a-f]+$/);
    expect(metadata.labels?.['sandlot.dev/network']).toBeUndefined();
  });
});

describe('the API with the key of another tenant', () => {
  it.each<[string, object | undefined, number]>([
    ['GET /sandboxes/{id}', undefined, 404],
    ['GET /sandboxes/{id}/metrics', undefined, 404],
    ['GET /api/v1/claims/{id}', undefined, 404],
    ['POST /sandboxes/{id}/timeout', { timeout: 1 }, 404],
    ['POST /sandboxes/{id}/pause', {}, 404],
    ['POST /sandboxes/{id}/connect', { timeout: 1 }, 404],
    ['PUT /sandboxes/{id}/network', {}, 404],
    ['DELETE /sandboxes/{id}', undefined, 404],
    ['DELETE /api/v1/claims/{id}', undefined, 404],
    ['GET /api/v1/claims/..%2F..%2Ftenant-a%2F{id}', undefined, 404],
    ['GET /api/v1/claims/{id}?namespace=tenant-a', undefined, 403],
    ['DELETE /api/v1/claims/{id}?namespace=tenant-a', undefined, 403],
    ['GET /api/v1/claims?namespace=tenant-a', undefined, 403],
    ['GET /api/v1/events?namespace=tenant-a', undefined, 403],
    ['GET /api/v1/keys', undefined, 404],
    ['POST /api/v1/keys', { namespace: THEIRS, role: 'admin' }, 404],
    ['DELETE /api/v1/keys/0', undefined, 404],
    ['POST /api/v1/pools', { name: 'pool', template: 'base' }, 405],
    ['DELETE /api/v1/pools/base', undefined, 405],
  ])('answers %s with a refusal', async (request, body, status) => {
    const reply = await callApi(request.replace('{id}', scene.victim.claimName), scene.stranger.apiKey, body);
    expect(reply.status).toBe(status);
    expect(await scene.theirs.isRunning()).toBe(true);
  });

  it('lists its own sandboxes to each of them, and no other', async () => {
    for (const path of ['/sandboxes', '/v2/sandboxes', '/api/v1/claims']) {
      const [mine, others] = [
        await callApi(`GET ${path}`, scene.stranger.apiKey),
        await callApi(`GET ${path}`, scene.owner.apiKey),
      ];
      expect([mine.status, others.status]).toEqual([200, 200]);
      expect(mine.body).not.toContain(scene.victim.claimName);
      expect(others.body).toContain(scene.victim.claimName);
      expect(others.body).not.toContain(scene.ours.sandboxId);
    }
    expect((await callApi(`GET /sandboxes/${scene.victim.claimName}`, scene.owner.apiKey)).status).toBe(200);
  });

  it('bounds what a key has in number and time, and lets it have that much', async () => {
    await using key = await openKey(scene.client, OURS, { sandboxes: 2, maxTimeoutSeconds: 600 });
    const create = (name: string, more: object = {}) =>
      callApi('POST /api/v1/claims', key.text, { name: `${prefix}-${name}`, pool: 'base', ...more });
    expect((await create('forever', { replicas: 100, ttlSecondsAfterCompleted: 0 })).status).toBe(400);
    expect((await create('long', { timeoutSeconds: 601 })).status).toBe(400);
    expect((await create('batch', { replicas: 3 })).status).toBe(429);
    const names = Array.from({ length: 6 }, (_, index) => `many-${index}`);
    const replies = await Promise.all(names.map((name) => create(name)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429, 429, 429]);
    for (const { body } of replies.filter(({ status }) => status === 201)) {
      const { name, createdAt, shutdownTime } = JSON.parse(body) as Record<string, string>;
      const seconds = (Date.parse(shutdownTime ?? '') - Date.parse(createdAt ?? '')) / 1_000;
      expect(seconds).toBeGreaterThan(590);
      expect(seconds).toBeLessThanOrEqual(601);
      expect((await callApi('GET /api/v1/claims', key.text)).body).toContain(`"${name ?? ''}"`);
      expect((await callApi(`DELETE /api/v1/claims/${name ?? ''}`, key.text)).status).toBe(204);
    }
    await eventually('the key has places again', async () =>
      (await create('again')).status === 201 ? true : undefined,
    );
    expect((await callApi(`DELETE /api/v1/claims/${prefix}-again`, key.text)).status).toBe(204);
  });
});

describe('the gateway', () => {
  const READ = { path: '/private.txt' };
  const buildHost = (sandbox: Sandbox, port = PORT): string => sandbox.getHost(port);
  const byHeaders = (sandbox: Sandbox, port = PORT) => ({
    'E2b-Sandbox-Id': sandbox.sandboxId,
    'E2b-Sandbox-Port': String(port),
  });
  const envdToken = (of: Sandbox): string => String(Reflect.get(of, 'envdAccessToken'));

  it.each<[string, () => readonly [host: string | undefined, headers: Record<string, string>], number]>([
    ['the host of the other sandbox', () => [buildHost(scene.theirs), {}], 403],
    ['its headers', () => [undefined, byHeaders(scene.theirs)], 403],
    ['a traffic token of nothing', () => [buildHost(scene.theirs), { 'e2b-traffic-access-token': 'a' }], 403],
    ['the own API key', () => [buildHost(scene.theirs), { 'X-API-Key': scene.stranger.apiKey }], 403],
    ['a forwarded host', () => [undefined, { 'X-Forwarded-Host': buildHost(scene.theirs) }], 404],
    ['a user in the host', () => [`${buildHost(scene.ours)}@${buildHost(scene.theirs)}`, {}], 400],
    ['two sandboxes in the host', () => [`${buildHost(scene.ours)}, ${buildHost(scene.theirs)}`, {}], 400],
    ['half of the headers', () => [undefined, { 'E2b-Sandbox-Id': scene.theirs.sandboxId }], 400],
    [
      'an address for an id',
      () => [undefined, { 'E2b-Sandbox-Id': scene.victim.address, 'E2b-Sandbox-Port': '80' }],
      400,
    ],
  ])('does not reach the other sandbox by %s', async (_, from, status) => {
    const [host, headers] = from();
    const answer = await ask(host, { ...READ, headers });
    expect(answer.statusCode).toBe(status);
    expect(await text(answer)).not.toContain(SECRET);
  });

  it('reaches the own sandbox, whatever other headers say, and the other one with its token', async () => {
    const mine = await ask(buildHost(scene.ours), { ...READ, headers: byHeaders(scene.theirs) });
    expect([mine.statusCode, await text(mine)]).toEqual([200, OWN]);
    const token = { 'e2b-traffic-access-token': scene.theirs.trafficAccessToken ?? '' };
    const other = await ask(buildHost(scene.theirs), { ...READ, headers: token });
    expect([other.statusCode, await text(other)]).toEqual([200, SECRET]);
  });

  it('lets a token reach the daemon of its own sandbox alone', async () => {
    const path = '/files?path=private.txt';
    const readWith = async (headers: Record<string, string>): Promise<[number | undefined, string]> => {
      const answer = await ask(buildHost(scene.theirs, 49_983), { path, headers });
      return [answer.statusCode, await text(answer)];
    };
    const [status, body] = await readWith({ 'X-Access-Token': envdToken(scene.ours) });
    expect(status).toBe(401);
    expect(body).not.toContain(SECRET);
    expect(await readWith({ 'X-Access-Token': envdToken(scene.theirs) })).toEqual([200, SECRET]);
  });

  it.each(['/init', '/x/../init', '/%69nit', '/sandlot/tunnel?port=22'])(
    'keeps the control routes of the daemon to itself: %s',
    async (path) => {
      const headers = { 'X-Access-Token': envdToken(scene.ours) };
      expect((await ask(buildHost(scene.ours, 49_983), { method: 'POST', path, headers })).statusCode).toBe(404);
      expect((await ask(buildHost(scene.ours, 49_983), { path: '/envs', headers })).statusCode).toBe(200);
    },
  );

  it.each([
    ['a length and chunks', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'],
    ['two lengths', 'Content-Length: 0\r\nContent-Length: 40\r\n', ''],
    ['a blank before the colon', 'Content-Length : 40\r\n', ''],
  ])('refuses a request that hides a second one behind %s', async (_, headers, body) => {
    const hidden = `GET /private.txt HTTP/1.1\r\nHost: ${buildHost(scene.theirs)}\r\n\r\n`;
    const answers = await sendBytes(
      `POST / HTTP/1.1\r\nHost: ${buildHost(scene.ours)}\r\n${headers}\r\n${body}${hidden}`,
    );
    expect(listStatuses(answers)).toEqual(['400']);
    const honest = `GET /private.txt HTTP/1.1\r\nHost: ${buildHost(scene.ours)}\r\nConnection: close\r\n\r\n`;
    expect(await sendBytes(honest)).toContain(OWN);
  });

  it('refuses two hosts', async () => {
    const hosts = `Host: ${buildHost(scene.ours)}\r\nHost: ${buildHost(scene.theirs)}`;
    expect(listStatuses(await sendBytes(`GET / HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`))).toEqual(['400']);
  });

  const execute = (command: string, headers: Record<string, string>) => {
    const json = {
      'Content-Type': 'application/json',
      Authorization: scene.raider.bearer,
      'X-Sandbox-Namespace': OURS,
    };
    const body = JSON.stringify({ command });
    return ask(undefined, { method: 'POST', path: '/execute', body, headers: { ...json, ...headers } });
  };

  it.each<[string, () => Record<string, string>, number]>([
    [
      'a Sandbox of the other tenant',
      () => ({ 'X-Sandbox-ID': scene.victim.sandbox, 'X-Sandbox-Namespace': THEIRS }),
      403,
    ],
    ['it in the own namespace', () => ({ 'X-Sandbox-ID': scene.victim.sandbox }), 502],
    ['the bus', () => ({ 'X-Sandbox-ID': 'sandlot-nats-0', 'X-Sandbox-Namespace': 'sandlot-system' }), 403],
    ['the API server', () => ({ 'X-Sandbox-ID': 'kubernetes', 'X-Sandbox-Namespace': 'default' }), 403],
    ['a namespace by a path', () => ({ 'X-Sandbox-ID': scene.box, 'X-Sandbox-Namespace': `../${THEIRS}` }), 400],
    ['an address', () => ({ 'X-Sandbox-ID': '169.254.169.254' }), 400],
    ['a port that does not exist', () => ({ 'X-Sandbox-ID': scene.box, 'X-Sandbox-Port': '65536' }), 400],
  ])('is not sent to %s by routed headers', async (_, headers, status) => {
    expect((await execute('id', headers())).statusCode).toBe(status);
  });

  it('is sent to the own Sandbox by routed headers, and to no address that they name', async () => {
    const away = { 'X-Sandbox-Pod-IP': scene.victim.address, 'X-Sandbox-Host': '169.254.169.254' };
    const answer = await execute('echo $LOOT', { 'X-Sandbox-ID': scene.box, ...away });
    expect([answer.statusCode, JSON.parse(await text(answer))]).toMatchObject([200, { stdout: `${OWN}\n` }]);
  });
});

describe('code in the sandbox of the other tenant', () => {
  it('reaches a public address, itself and the egress proxy, but no sandbox, node, metadata service or other service of the installation', async () => {
    const node = await readNodeAddress();
    const tried = [
      ...[8_888, 49_983, PORT].map((port) => `${scene.victim.address}:${port}`),
      ...(await listServices()),
      ...[`${node}:16443`, `${node}:10250`, '169.254.169.254:80', '100.100.100.200:80'],
      ...[
        '[fd00:ec2::254]:80',
        '[::ffff:169.254.169.254]:80',
        '[::ffff:10.96.0.1]:443',
        `[::ffff:${scene.victim.address}]:8888`,
      ],
    ];
    const open = [`${OUTSIDE}:80`, `127.0.0.1:${PORT}`];
    const reached = await listReachable(scene.ours, [...tried, ...open]);
    expect(reached).toEqual([...open, ...(await listProxyPlaces())].sort());
  });

  it('has no token, and none of the variables of others', async () => {
    const mounted = 'ls /var/run/secrets/kubernetes.io /var/run/secrets/tokens 2>/dev/null || true';
    expect((await scene.ours.commands.run(mounted)).stdout).toBe('');
    expect((await scene.ours.commands.run('env')).stdout).not.toContain(SECRET);
    expect((await scene.theirs.commands.run('echo $VAULT')).stdout).toBe(`${SECRET}\n`);
  });
});

describe('after the day', () => {
  it('the first tenant has everything as it was', async () => {
    const { metadata, status } = await scene.client.get(sandboxClaims, {
      namespace: THEIRS,
      name: scene.theirs.sandboxId,
    });
    expect([metadata.uid, status?.sandbox?.name]).toEqual([scene.victim.claimUid, scene.victim.sandbox]);
    expect(await scene.theirs.files.read('private.txt')).toBe(SECRET);
    const { metadata: place } = await scene.client.get(namespaces, { name: OURS });
    expect(place.labels?.['sandlot.dev/policy-exempt']).toBeUndefined();
  });
});
