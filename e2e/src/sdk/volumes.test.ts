import { randomBytes } from 'node:crypto';
import { sandboxClaims, sandboxes, sandboxWarmPools, VOLUMES_NAME } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, persistentVolumeClaims, pods } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Sandbox, Volume } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { offerLikeBase } from '../support/sdk/base-template.ts';
import { LIFETIME_MS, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { TENANT } from '../support/sdk/objects.ts';
import { eventually } from '../support/team.ts';

/** 1 GiB with SANDLOT_VOLUME_MIB=1024. */
const MEBIBYTES = Number(process.env['SANDLOT_VOLUME_MIB'] ?? '256');
const MIB = 1_048_576;
/** The namespace of the second tenant, whose file server no other test file uses. */
const NEIGHBOUR = 'tenant-b';

let ours: Access;
let theirs: Access;
let client: KubeClient;
const stack = new AsyncDisposableStack();
beforeAll(async () => {
  ours = await readAccess();
  theirs = await readAccess('E2B_API_KEY_2');
  process.env['E2B_VOLUME_API_URL'] = ours.apiUrl;
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
});
afterAll(() => stack.disposeAsync());

const name = (what: string): string => `e2e-${what}-${process.pid}`;

async function open(volumeMounts: Record<string, Volume | string>): Promise<Sandbox> {
  const sandbox = await Sandbox.create('base', { ...ours, volumeMounts, timeoutMs: LIFETIME_MS });
  stack.defer(async () => {
    await sandbox.kill();
  });
  return sandbox;
}

const disposable = (sandbox: Sandbox): Sandbox & AsyncDisposable =>
  Object.assign(sandbox, {
    [Symbol.asyncDispose]: async () => {
      await sandbox.kill();
    },
  });

const run = async (sandbox: Sandbox, command: string): Promise<string> =>
  (await sandbox.commands.run(command)).stdout.trim();

describe('a volume', () => {
  it('takes a stream, is read in two sandboxes at once, appended to there, and read back', async () => {
    const volume = await Volume.create(name('big'), ours);
    const chunk = randomBytes(MIB);
    let sent = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent++ < MEBIBYTES) controller.enqueue(new Uint8Array(chunk));
        else controller.close();
      },
    });
    expect(await volume.writeFile('/deep/big', stream, { force: true })).toMatchObject({ size: MEBIBYTES * MIB });
    await volume.writeFile('/note', 'from outside\n');
    const [one, two] = await Promise.all([open({ '/data': volume }), open({ '/mnt/shared': volume.name })]);
    const sums = await Promise.all([
      run(one, 'sha256sum < /data/deep/big'),
      run(two, 'sha256sum < /mnt/shared/deep/big'),
    ]);
    expect(new Set(sums).size).toBe(1);
    expect(await run(one, 'stat --format=%s /data/deep/big')).toBe(String(MEBIBYTES * MIB));
    await run(one, 'echo one >> /data/note');
    await run(two, 'echo two >> /mnt/shared/note; echo made > /mnt/shared/made');
    expect(await volume.readFile('/note')).toBe('from outside\none\ntwo\n');
    expect(await volume.readFile('/made')).toBe('made\n');
    expect(await volume.exists('/absent')).toBe(false);
    await expect(volume.remove('/')).rejects.toThrow(/cannot delete root/);
    await volume.writeFile('/made', 'anew', { force: true });
    expect(await run(two, 'cat /mnt/shared/made')).toBe('anew');
    expect((await one.getInfo()).volumeMounts).toEqual([{ name: volume.name, path: '/data' }]);
    await expect(Volume.destroy(volume.volumeId, ours)).rejects.toThrow(/409: .* is used by 2 sandboxes/);
    expect(await one.pause({ keepMemory: false })).toBe(true);
    const resumed = await Sandbox.connect(one.sandboxId, ours);
    expect(await run(resumed, 'cat /data/made')).toBe('anew');
    await Promise.all([resumed.kill(), two.kill()]);
    await eventually('the volume is free', async () =>
      (await Volume.destroy(volume.volumeId, ours).catch(() => false)) ? true : undefined,
    );
    await expect(volume.readFile('/note')).rejects.toThrow(/not found/);
  });

  it('that a template mounts is in the members of its pool: a create that names it takes one of them', async () => {
    const volume = await Volume.create(name('pooled'), ours);
    await volume.writeFile('/model', 'weights');
    const template = name('with-volume');
    const mount = { name: 'own', mountPath: '/models', subPath: volume.volumeId };
    await using _template = await offerLikeBase(client, template, (pod) => ({
      ...pod,
      volumes: [...(pod.volumes ?? []), { name: 'own', persistentVolumeClaim: { claimName: VOLUMES_NAME } }],
      containers: pod.containers.map((each) => ({ ...each, volumeMounts: [...(each.volumeMounts ?? []), mount] })),
    }));
    const key = { namespace: TENANT, name: template };
    const spec = { replicas: 1, sandboxTemplateRef: { name: template } };
    await client.create(sandboxWarmPools, { metadata: key, spec });
    const member = await eventually('the pool has a member', async () => {
      const { items } = await client.listAll(sandboxes, { namespace: TENANT });
      const { status } = await client.get(sandboxWarmPools, key);
      const own = items.find(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.name === template));
      return status?.readyReplicas === 1 ? own?.metadata.name : undefined;
    });
    const mounts = { ...ours, volumeMounts: { '/models': volume }, timeoutMs: LIFETIME_MS };
    await using sandbox = disposable(await Sandbox.create(template, mounts));
    const claim = await client.get(sandboxClaims, { namespace: TENANT, name: sandbox.sandboxId });
    expect(claim.status?.sandbox?.name).toBe(member);
    expect(await run(sandbox, 'cat /models/model; echo more > /models/made')).toBe('weights');
    expect(await volume.readFile('/made')).toBe('more\n');
    await client.delete(sandboxWarmPools, key);
  });

  it('shows nothing of another one to a sandbox that makes links out of it, nor to its team', async () => {
    const mine = await Volume.create(name('mine'), ours);
    const secret = await Volume.create(name('secret'), ours);
    await secret.writeFile('/key', 'precious');
    const sandbox = await open({ '/mine': mine });
    await run(sandbox, `ln -s ../${secret.volumeId}/key /mine/key; ln -s /etc/passwd /mine/passwd; mkfifo /mine/pipe`);
    expect(await run(sandbox, 'cat /mine/key 2>&1 || true')).not.toContain('precious');
    for (const path of ['/key', '/passwd', '/pipe']) await expect(mine.readFile(path)).rejects.toThrow();
    // gVisor keeps a pipe in the sandbox; elsewhere its type is unknown.
    const links = (await mine.list('/')).filter(({ name }) => name !== 'pipe');
    expect(links.map(({ type }) => type)).toEqual(['symlink', 'symlink']);
    await expect(Volume.connect(secret.volumeId, theirs)).rejects.toThrow(/not found/);
    await sandbox.kill();
    await eventually('both are free', async () => {
      const results = await Promise.all(
        [mine, secret].map(({ volumeId }) => Volume.destroy(volumeId, ours).catch(() => undefined)),
      );
      return results.every((result) => result !== undefined) ? true : undefined;
    });
  });

  it('survives the end of its file server in the middle of an upload, which leaves nothing', async () => {
    const volume = await Volume.create(name('killed'), theirs);
    await volume.writeFile('/kept', 'before');
    const stop = Promise.withResolvers<undefined>();
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(new Uint8Array(MIB));
        await Promise.race([stop.promise, new Promise((resolve) => setTimeout(resolve, 20))]);
      },
    });
    const upload = volume.writeFile('/half', stream).catch((error: unknown) => error);
    const labelSelector = 'app.kubernetes.io/component=volume-server';
    const { items } = await client.listAll(pods, { namespace: NEIGHBOUR, labelSelector });
    for (const { metadata } of items)
      await client.delete(pods, { namespace: NEIGHBOUR, name: metadata.name ?? '' }, { gracePeriodSeconds: 0 });
    expect(await upload).toBeInstanceOf(Error);
    stop.resolve(undefined);
    expect(await volume.readFile('/kept')).toBe('before');
    expect((await volume.list('/')).map(({ path }) => path)).toEqual(['/kept']);
  });

  it('is the last of its team, and the team has no disk and no file server then', async () => {
    const volume = await Volume.create(name('last'), theirs);
    await volume.writeFile('/a', 'x');
    const namespace = NEIGHBOUR;
    expect(await client.find(persistentVolumeClaims, { namespace, name: VOLUMES_NAME })).toBeDefined();
    for (const { volumeId } of await Volume.list(theirs)) expect(await Volume.destroy(volumeId, theirs)).toBe(true);
    await eventually('the disk is gone', async () =>
      (await client.find(persistentVolumeClaims, { namespace, name: VOLUMES_NAME })) === undefined ? true : undefined,
    );
    const { items } = await client.listAll(pods, {
      namespace,
      labelSelector: 'app.kubernetes.io/component=volume-server',
    });
    expect(items).toEqual([]);
  });
});
