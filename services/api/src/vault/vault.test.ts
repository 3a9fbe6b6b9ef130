import { secrets } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { FakeClock } from '@sandlot/std/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Vault } from './vault.ts';

const NEW = { value: 'hunter2', metadata: undefined };

async function setup() {
  const server = await startFakeApiServer({ resources: [secrets] });
  onTestFinished(() => server.stop());
  const options = { client: server.client(), vaultNamespace: 'vault', secretsLimit: 3, clock: new FakeClock() };
  return { server, vault: new Vault(options, 'team-a'), other: new Vault(options, 'team-b') };
}

it('a secret whose creation succeeds and whose answer is lost is created', async () => {
  const { server, vault } = await setup();
  server.faults.errorAfterCommit({ match: { verb: 'create', resource: 'secrets' }, answer: { status: 500 } });
  expect(await vault.create('key', NEW)).toMatchObject({ name: 'key', version: 1 });
  expect(server.objects(secrets)).toHaveLength(1);
});

it('an update that succeeds and whose answer is lost has made the next version', async () => {
  const { server, vault } = await setup();
  await vault.create('key', NEW);
  server.faults.errorAfterCommit({ match: { verb: 'patch', resource: 'secrets' }, answer: { status: 500 } });
  expect(await vault.update('key', NEW)).toMatchObject({ version: 2 });
  expect(await vault.get('key')).toMatchObject({ version: 2 });
});

it('an update that fails without an answer makes none', async () => {
  const { server, vault } = await setup();
  await vault.create('key', NEW);
  server.faults.failNext({ match: { verb: 'patch', resource: 'secrets' }, answer: { status: 500 }, times: 9 });
  await expect(vault.update('key', NEW)).rejects.toMatchObject({ code: 'ServerError' });
  expect(await vault.get('key')).toMatchObject({ version: 1 });
});

it('an update that meets a conflict reads the secret again, and makes the next version', async () => {
  const { server, vault } = await setup();
  await vault.create('key', NEW);
  server.faults.failNext({ match: { verb: 'patch', resource: 'secrets' }, answer: { status: 409 } });
  expect(await vault.update('key', NEW)).toMatchObject({ version: 2 });
});

it('an update that meets conflicts again and again is refused', async () => {
  const { server, vault } = await setup();
  await vault.create('key', NEW);
  server.faults.failNext({ match: { verb: 'patch', resource: 'secrets' }, answer: { status: 409 }, times: 100 });
  await expect(vault.update('key', NEW)).rejects.toMatchObject({ status: 409 });
});

it('a secret that a namespace has too many of, because another came at the same time, is deleted again', async () => {
  const { server, vault } = await setup();
  for (const name of ['a', 'b']) await vault.create(name, NEW);
  const before = server.requests().length;
  const [first, second] = await Promise.allSettled([vault.create('c', NEW), vault.create('d', NEW)]);
  expect(server.requests().length).toBeGreaterThan(before);
  expect(server.objects(secrets).length).toBeLessThanOrEqual(3);
  for (const result of [first, second]) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ errorCode: 'secret_limit_reached' });
  }
});

it('names that no secret has are found one by one, and many at once', async () => {
  const { vault, other } = await setup();
  for (const name of ['a', 'b']) await vault.create(name, NEW);
  await other.create('c', NEW);
  expect(await vault.listMissing([])).toEqual([]);
  expect(await vault.listMissing(['a', 'c'])).toEqual(['c']);
  const many = Array.from({ length: 20 }, (_, at) => `n${at}`);
  expect(await vault.listMissing(['a', ...many, 'b', 'c'])).toEqual([...many, 'c']);
});

it('a Secret that is none of the vault, or cannot be read, is no secret', async () => {
  const { server, vault } = await setup();
  await vault.create('key', NEW);
  const [stored] = server.objects(secrets);
  const key = { namespace: 'vault', name: stored?.metadata.name ?? '' };
  server.change(secrets, key, (secret) => {
    secret.metadata.annotations = { 'sandlot.dev/vault-secret': '{"id":7' };
  });
  expect(await vault.list()).toEqual([]);
  await expect(vault.get('key')).rejects.toMatchObject({ status: 404 });
  await expect(vault.create('key', NEW)).rejects.toMatchObject({ status: 409 });
});
