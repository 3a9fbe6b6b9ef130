import { Sandbox, Secret } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.86';
const [API, OTHER, PYTHON] = ['api.secrets.example', 'other.secrets.example', 'python.secrets.example'] as const;
const NAME = 'e2e-model-key';
const SOON = { timeout: 30_000, interval: 50 };

const stack = new AsyncDisposableStack();
let upstream: Upstream;
let access: Access;

beforeAll(async () => {
  access = await readAccess();
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [API, OTHER, PYTHON] }));
  stack.defer(async () => {
    await Secret.destroy(NAME, access);
  });
  await Secret.create(NAME, 'first', access);
});
afterAll(() => stack.disposeAsync());

const withRules = (host: string, value: string) => ({
  network: { rules: { [host]: [{ transform: { headers: { Authorization: value } } }] } },
});

/** The credential that the server gets with a request of the sandbox; undefined: it got none, or no request. */
async function readAuthorization(sandbox: Sandbox, host: string = API): Promise<string | undefined> {
  const before = upstream.requests.length;
  await sandbox.commands.run(`curl --silent --max-time 5 https://${host}/headers || true`);
  return upstream.requests.slice(before).at(-1)?.headers.authorization;
}

describe('the stock client of JavaScript', () => {
  it('sets a secret in the requests of a sandbox, which follows the secret', async () => {
    await using sandbox = await openSandbox(withRules(API, `Bearer ${Secret.fill(NAME)}`));
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe('Bearer first');
    await Secret.update(NAME, 'second', access);
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe('Bearer second');
    expect(JSON.stringify(await sandbox.getInfo())).not.toMatch(/first|second/u);
  });

  it('changes the rules of a sandbox that runs', async () => {
    await using sandbox = await openSandbox(withRules(API, 'Bearer plain-1'));
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe('Bearer plain-1');
    await sandbox.updateNetwork(withRules(OTHER, 'Bearer plain-2').network);
    await expect.poll(() => readAuthorization(sandbox, OTHER), SOON).toBe('Bearer plain-2');
    expect(await readAuthorization(sandbox)).toBeUndefined();
    await sandbox.updateNetwork({});
    await expect.poll(() => readAuthorization(sandbox, OTHER), SOON).toBeUndefined();
  });

  it('has credentials again after a pause', async () => {
    await using sandbox = await openSandbox(withRules(API, 'Bearer plain-3'));
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe('Bearer plain-3');
    await sandbox.pause();
    const woken = await Sandbox.connect(sandbox.sandboxId, access);
    await expect.poll(() => readAuthorization(woken), SOON).toBe('Bearer plain-3');
  });

  it('gets no secret of another tenant', async () => {
    const other = await readAccess('E2B_API_KEY_2');
    expect(await Secret.exists(NAME, other)).toBe(false);
    await expect(openSandbox({ ...other, ...withRules(API, Secret.fill(NAME)) })).rejects.toThrow(NAME);
  });
});

describe('the stock client of Python', () => {
  registerPythonTests('egress_secrets', async () => ({ RULE_HOST: PYTHON }));
});
