import { text } from 'node:stream/consumers';
import { sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openAccount } from '../support/security/account.ts';
import { ask } from '../support/sdk/http.ts';
import type { Ask } from '../support/sdk/http.ts';
import { readAccess, openSandbox } from '../support/sdk/client.ts';

const SECRET = 'kept by the first tenant';
const stack = new AsyncDisposableStack();
let mine: Sandbox;
let name: string;
/** What the stranger has: an API key, a sandbox with tokens, and a cluster account that may edit the stranger's namespace. */
let headers: Readonly<Record<string, string>>;
let bearer: string;
beforeAll(async () => {
  const credentials = await loadCredentials({ kubeconfig: inject('kubeconfigPath') });
  const client = stack.adopt(createKubeClient({ credentials }), (made) => made.close());
  mine = stack.use(await openSandbox({ network: { allowPublicTraffic: false } }));
  await mine.files.write('private.txt', SECRET);
  const { status } = await client.get(sandboxClaims, { namespace: 'tenant-a', name: mine.sandboxId });
  name = status?.sandbox?.name ?? '';
  const stranger = await readAccess('E2B_API_KEY_2');
  const own = stack.use(await openSandbox({ ...stranger, network: { allowPublicTraffic: false } }));
  headers = {
    'Content-Type': 'application/json',
    'X-API-Key': stranger.apiKey,
    'X-Access-Token': String(Reflect.get(own, 'envdAccessToken')),
    'e2b-traffic-access-token': own.trafficAccessToken ?? '',
  };
  ({ bearer } = stack.use(await openAccount('tenant-b', `stranger-${process.pid}`, 'edit')));
});
afterAll(() => stack.disposeAsync());

const READ: Ask = { path: '/files?path=private.txt' };
const LIST: Ask = { method: 'POST', path: '/process.Process/List', body: '{}' };
const EXECUTE: Ask = { method: 'POST', path: '/execute', body: '{"command":"cat private.txt"}' };

describe('a stranger with a key, tokens and a sandbox', () => {
  it.each<[string, number, Ask, number]>([
    ['the daemon’s files', 49_983, READ, 401],
    ['the daemon’s processes', 49_983, LIST, 401],
    ['the daemon’s initialisation', 49_983, { method: 'POST', path: '/init', body: '{}' }, 404],
    ['the API without authentication', 8_888, EXECUTE, 404],
    ['a port that is not public', 8_000, {}, 403],
  ])('does not reach %s by host name or by headers', async (...[, port, what, status]) => {
    const byHost = await ask(mine.getHost(port), { ...what, headers });
    const routing = { 'E2b-Sandbox-Id': mine.sandboxId, 'E2b-Sandbox-Port': String(port) };
    const byHeader = await ask(undefined, { ...what, headers: { ...headers, ...routing } });
    expect([byHost.statusCode, byHeader.statusCode]).toEqual([status, status]);
    expect(`${await text(byHost)}${await text(byHeader)}`).not.toContain(SECRET);
  });

  it.each<[string, () => Readonly<Record<string, string>>, number]>([
    ['a token of their own namespace', () => ({ Authorization: bearer }), 403],
    ['no token', () => ({}), 401],
    ['their own API key', () => ({ Authorization: `Bearer ${headers['X-API-Key'] ?? ''}` }), 403],
    ['an unknown key', () => ({ Authorization: `Bearer e2b_${'0'.repeat(40)}` }), 401],
  ])('does not reach it by agent-sandbox headers with %s', async (_, proof, status) => {
    const routing = { 'X-Sandbox-ID': name, 'X-Sandbox-Namespace': 'tenant-a', 'Content-Type': 'application/json' };
    const answer = await ask(undefined, { ...EXECUTE, headers: { ...routing, ...proof() } });
    expect(answer.statusCode).toBe(status);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['in their own namespace', { 'X-Sandbox-Namespace': 'tenant-b' }],
    ['at an address they choose', { 'X-Sandbox-Namespace': 'tenant-b', 'X-Sandbox-Pod-IP': '127.0.0.1' }],
  ])('finds no sandbox %s', async (_, more) => {
    const routing = { 'X-Sandbox-ID': name, 'Content-Type': 'application/json', Authorization: bearer };
    const answer = await ask(undefined, { ...EXECUTE, headers: { ...routing, ...more } });
    expect(answer.statusCode).toBe(502);
  });

  it('neither finds nor kills it with variants of its id', async () => {
    const stranger = await readAccess('E2B_API_KEY_2');
    for (const id of [name, mine.sandboxId, mine.sandboxId.toUpperCase(), `../tenant-a/${mine.sandboxId}`]) {
      expect(await Sandbox.kill(id, stranger).catch(() => false)).toBe(false);
      await expect(Sandbox.getInfo(id, stranger)).rejects.toThrow();
    }
    expect(await mine.isRunning()).toBe(true);
  });
});

describe('the owner', () => {
  it('has access where the stranger has none', async () => {
    const token = String(Reflect.get(mine, 'envdAccessToken'));
    const answer = await ask(mine.getHost(49_983), { ...READ, headers: { 'X-Access-Token': token } });
    expect([answer.statusCode, await text(answer)]).toEqual([200, SECRET]);
    const traffic = { 'e2b-traffic-access-token': mine.trafficAccessToken ?? '' };
    expect((await ask(mine.getHost(8_000), { headers: traffic })).statusCode).toBe(502);
  });
});
