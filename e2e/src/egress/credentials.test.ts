import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, secrets } from '@sandlot/kube';
import type { JsonObject, KubeClient } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { getClusterPaths } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { openSandbox, readAccess } from '../support/sdk/client.ts';
import { readServiceAddress } from '../support/sdk/reach.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.82';
const API = 'api.rules.example';
const OTHER = 'other.rules.example';
const NAMESPACE = 'tenant-a';
const KEY = 'rules-key';
const SOON = { timeout: 30_000, interval: 50 };
/** Values that no other text has. */
const VALUES = ['first-2f6b1c', 'second-9d03ae', 'third-771f20'] as const;
const RULES = [
  {
    host: API,
    headers: [
      {
        name: 'Authorization',
        valueFrom: { secretKeyRef: { name: KEY, key: 'token' } },
        format: 'Bearer {}',
      },
    ],
    methods: ['GET', 'POST'],
    paths: ['/headers', '/echo', '/v1/*'],
  },
];

const stack = new AsyncDisposableStack();
let client: KubeClient;
let upstream: Upstream;
let sandbox: Sandbox;

beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  upstream = stack.use(await openUpstream({ address: OUTSIDE, names: [API, OTHER] }));
  stack.defer(async () => {
    await client.delete(secrets, { namespace: NAMESPACE, name: KEY });
  });
  await client.create(secrets, {
    metadata: {
      namespace: NAMESPACE,
      name: KEY,
      labels: { 'sandlot.dev/egress-credential': 'true' },
      annotations: { [annotations.egressHosts]: API },
    },
    data: { token: encode(VALUES[0]) },
  });
  sandbox = stack.use(await openSandbox());
  await setRules(sandbox, RULES);
  await vi.waitFor(async () => expect(await readAuthorization(sandbox)).toBe(`Bearer ${VALUES[0]}`), SOON);
});
afterAll(() => stack.disposeAsync());

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** Gives the claim of a sandbox rules, as its owner does by kubectl. */
async function setRules(
  { sandboxId: name }: Sandbox,
  rules: readonly object[],
  inNamespace = NAMESPACE,
): Promise<void> {
  const network = JSON.stringify({ rules });
  await client.mergePatch(
    sandboxClaims,
    { namespace: inNamespace, name },
    { metadata: { annotations: { [annotations.network]: network } } },
  );
}

const setSecret = (fields: JsonObject) => client.mergePatch(secrets, { namespace: NAMESPACE, name: KEY }, fields);

async function runIn(given: Sandbox, command: string): Promise<string> {
  return (await given.commands.run(`{ ${command}; } 2>&1 || true`, { timeoutMs: 60_000 })).stdout;
}

/** The credential that the server gets with a request of the sandbox; undefined: it got none, or no request. */
async function readAuthorization(given: Sandbox, args = ''): Promise<string | undefined> {
  const before = upstream.requests.length;
  await runIn(given, `curl --silent --max-time 5 ${args} https://${API}/headers`);
  return upstream.requests.slice(before).at(-1)?.headers.authorization;
}

describe('a credential of a rule', () => {
  it('is set in requests to its host in place of what the sandbox sends, and in no others', async () => {
    expect(await readAuthorization(sandbox, '--header "Authorization: mine"')).toBe(`Bearer ${VALUES[0]}`);
    expect(await readAuthorization(sandbox, '--http1.1 --header "Connection: authorization"')).toBe(
      `Bearer ${VALUES[0]}`,
    );
    await sandbox.files.write('/tmp/ca.crt', upstream.ca);
    const before = upstream.requests.length;
    await runIn(sandbox, `curl --silent --cacert /tmp/ca.crt https://${OTHER}/headers`);
    expect(upstream.requests.slice(before).map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('does not come back in the headers of an answer', async () => {
    const head = await runIn(sandbox, `curl --silent --dump-header - --output /dev/null https://${API}/headers`);
    expect(head).toMatch(/x-seen: \*\*\*/iu);
  });

  it('goes out for the methods and paths of its rule alone', async () => {
    const refuse = async (request: string): Promise<string> => runIn(sandbox, `curl --silent --max-time 5 ${request}`);
    expect(await refuse(`--request DELETE https://${API}/headers`)).toContain('egress_');
    expect(await refuse(`https://${API}/admin`)).toContain('egress_');
    expect(await refuse(`--path-as-is https://${API}/v1/../admin`)).toContain('egress_');
    expect(await refuse(`--request TRACE https://${API}/headers`)).toContain('egress_');
    expect(await refuse(`--header "Host: ${OTHER}" https://${API}/headers`)).toContain('egress_');
    expect(await refuse(`http://${API}/headers`)).toContain('egress_tls_required');
  });

  it('goes out for no sandbox that only knows the address of the proxy', async () => {
    await using stranger = await openSandbox();
    const inspect = await readServiceAddress('sandlot-egress-inspect');
    const forced = `--insecure --resolve ${API}:443:${inspect}`;
    expect(await readAuthorization(stranger, forced)).toBeUndefined();
  });

  it('is nowhere in the sandbox', async () => {
    // The bracket keeps the search from finding itself.
    const places = '/proc/[0-9]*/environ /.sandlot /etc /home /root /run /tmp /var';
    const found = await runIn(sandbox, `sudo grep -rlsE 'first-2f6b1[c]' ${places}; echo searched`);
    expect(found).toBe('searched\n');
  });

  it('is in no log and no event of the installation', async () => {
    const logs = join(getClusterPaths(checkoutRoot).state, 'logs', 'pods');
    const names = (await readdir(logs, { recursive: true })).filter(
      (name) => name.startsWith('sandlot-system') && name.endsWith('.log'),
    );
    expect(names.length).toBeGreaterThan(5);
    for (const name of names) {
      expect([name, (await readFile(join(logs, name), 'utf8')).includes(VALUES[0])]).toEqual([name, false]);
    }
  });
});

describe('a Secret', () => {
  it('that is rotated holds for the next request, and one that is gone for none', async () => {
    await setSecret({ data: { token: encode(VALUES[1]) } });
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe(`Bearer ${VALUES[1]}`);
    await setSecret({ metadata: { labels: { 'sandlot.dev/egress-credential': null } } });
    const answer = (): Promise<string> => runIn(sandbox, `curl --silent https://${API}/headers`);
    await expect.poll(answer, SOON).toContain('egress_credential_missing');
    await setSecret({ metadata: { labels: { 'sandlot.dev/egress-credential': 'true' } } });
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe(`Bearer ${VALUES[1]}`);
    await setSecret({ metadata: { annotations: { [annotations.egressHosts]: OTHER } } });
    await expect.poll(answer, SOON).toContain('egress_credential_missing');
    await setSecret({
      metadata: { annotations: { [annotations.egressHosts]: API } },
      data: { token: encode(VALUES[2]) },
    });
    await expect.poll(() => readAuthorization(sandbox), SOON).toBe(`Bearer ${VALUES[2]}`);
  });

  it('of another tenant is not to be had by its name', async () => {
    await using other = await openSandbox(await readAccess('E2B_API_KEY_2'));
    await setRules(other, RULES, 'tenant-b');
    await expect
      .poll(() => runIn(other, `curl --silent https://${API}/headers`), SOON)
      .toContain('egress_credential_missing');
    expect(await readAuthorization(other)).toBeUndefined();
  });
});

describe('clients that know nothing of the proxy', () => {
  it.each([
    ['Python', `python3 -c "import urllib.request as u; print(u.urlopen('https://${API}/headers').status)"`],
    [
      'Python as root',
      `sudo python3 -c "import urllib.request as u; print(u.urlopen('https://${API}/headers').status)"`,
    ],
    ['curl over HTTP/2', `curl --silent --http2 --output /dev/null --write-out '%{http_code}' https://${API}/headers`],
    ['curl as root', `sudo curl --silent --output /dev/null --write-out '%{http_code}' https://${API}/headers`],
  ])('%s', async (_client, command) => {
    const before = upstream.requests.length;
    expect((await runIn(sandbox, command)).trim()).toBe('200');
    expect(upstream.requests.slice(before).map(({ headers }) => headers.authorization)).toEqual([
      expect.stringMatching(/^Bearer /u),
    ]);
  });
});

it('a rule opens no host of a closed sandbox', async () => {
  await using closed = await openSandbox({ network: { denyOut: ['0.0.0.0/0'], allowOut: [OTHER] } });
  const network = JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut: [OTHER], rules: RULES });
  await client.mergePatch(
    sandboxClaims,
    { namespace: NAMESPACE, name: closed.sandboxId },
    { metadata: { annotations: { [annotations.network]: network } } },
  );
  expect(await runIn(closed, `curl --silent --max-time 5 https://${API}/headers; echo "exit $?"`)).toBe('exit 6\n');
  expect(await readAuthorization(closed)).toBeUndefined();
});
