// What a hostile program in a sandbox tries, in both runtimes: attacks.py makes all the attempts, and the upstream server says what came out.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { annotations, sandboxClaims } from '@sandlot/api-types';
import { createKubeClient, loadCredentials, secrets } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { getClusterPaths, loggedDomain } from '@sandlot/local-cluster';
import { checkoutRoot } from '@sandlot/up';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { moveName } from '../support/egress/hosts.ts';
import { openUpstream } from '../support/egress/upstream.ts';
import type { Upstream } from '../support/egress/upstream.ts';
import { offerLikeBase } from '../support/sdk/base-template.ts';
import type { PodSpec } from '../support/sdk/base-template.ts';
import { LIFETIME_MS, openSandbox, readAccess } from '../support/sdk/client.ts';
import { TENANT as NAMESPACE } from '../support/sdk/objects.ts';
import { readServiceAddress } from '../support/sdk/reach.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.88';
const API_SERVER = '10.96.0.1';
const [LISTED, RULED, SECOND, REFUSED, INSIDE, MOVING] = [
  'listed.threats.example',
  'ruled.threats.example',
  'second.threats.example',
  'refused.threats.example',
  'inside.threats.example',
  'moving.threats.example',
] as const;
const KNOWN = `known.${loggedDomain}`;
const VALUES = { [RULED]: 'ruled-58c1de', [SECOND]: 'second-0b7a44' } as const;
const SOON = { timeout: 30_000, interval: 100 };
/** Codes of DNS. */
const [NO_ERROR, NO_SUCH_NAME] = [0, 3] as const;
/** The proxy's limit for one sandbox. */
const MAX_OPEN = 256;
const ATTACKS = join(import.meta.dirname, '../support/egress/attacks.py');

const stack = new AsyncDisposableStack();
let client: KubeClient;
let upstream: Upstream;

beforeAll(async () => {
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  upstream = stack.use(
    await openUpstream({
      address: OUTSIDE,
      names: [LISTED, RULED, SECOND, REFUSED, MOVING, KNOWN],
      hosts: [`${API_SERVER} ${INSIDE}`],
    }),
  );
  for (const host of [RULED, SECOND] as const) await createSecret(host);
  const takeRuntime = ({ runtimeClassName, ...pod }: PodSpec): PodSpec => {
    expect(runtimeClassName).toBe('gvisor');
    return pod;
  };
  stack.use(await offerLikeBase(client, 'base-runc', takeRuntime));
});
afterAll(() => stack.disposeAsync());

/** A Secret with the value for a host, under the name of the host. */
async function createSecret(host: keyof typeof VALUES): Promise<void> {
  const metadata = {
    namespace: NAMESPACE,
    name: host,
    labels: { 'sandlot.dev/egress-credential': 'true' },
    annotations: { [annotations.egressHosts]: host },
  };
  stack.defer(async () => {
    await client.delete(secrets, { namespace: NAMESPACE, name: host });
  });
  await client.create(secrets, { metadata, data: { token: Buffer.from(VALUES[host]).toString('base64') } });
}

const buildRule = (host: keyof typeof VALUES, paths?: readonly string[]): object => ({
  host,
  paths,
  headers: [
    { name: 'Authorization', valueFrom: { secretKeyRef: { name: host, key: 'token' } }, format: 'Bearer {}' },
    { name: 'X-Api-Key', value: 'of the rule' },
  ],
});
const RULES = [buildRule(RULED, ['/headers', '/echo', '/socket', '/v1/*']), buildRule(SECOND)];
const NAMES = [LISTED, RULED, SECOND, INSIDE, MOVING, KNOWN];

/** Closes a sandbox but for names, as its owner does by kubectl. */
async function setNames({ sandboxId: name }: Sandbox, allowOut: readonly string[]): Promise<void> {
  const network = JSON.stringify({ denyOut: ['0.0.0.0/0'], allowOut, rules: RULES });
  const metadata = { annotations: { [annotations.network]: network } };
  await client.mergePatch(sandboxClaims, { namespace: NAMESPACE, name }, { metadata });
}

/** The log of the DNS server of the cluster. */
const readQuestions = (): Promise<string> =>
  readFile(join(getClusterPaths(checkoutRoot).state, 'logs/coredns.log'), 'utf8');

describe.each([
  ['gVisor', 'base'],
  ['runc', 'base-runc'],
])('a hostile sandbox in %s', (_runtime, template) => {
  let sandbox: Sandbox;
  let results: Readonly<Record<string, unknown>>;
  let seen: Pick<Upstream, 'requests' | 'paths'>;

  beforeAll(async () => {
    sandbox = await Sandbox.create(template, { timeoutMs: LIFETIME_MS, ...(await readAccess()) });
    await setNames(sandbox, NAMES);
    await sandbox.files.write('/tmp/ca.crt', upstream.ca);
    await sandbox.files.write('/tmp/attacks.py', await readFile(ATTACKS, 'utf8'));
    await vi.waitFor(
      async () => expect(await runIn(`curl --silent https://${RULED}/headers`)).toContain('Bearer'),
      SOON,
    );
    const [requests, paths] = [upstream.requests.length, upstream.paths.length];
    results = await tryAll();
    seen = { requests: upstream.requests.slice(requests), paths: upstream.paths.slice(paths) };
  });
  afterAll(() => sandbox.kill());

  /** Runs a command in the sandbox, also one that fails. */
  async function runIn(command: string): Promise<string> {
    return (await sandbox.commands.run(`{ ${command}; } 2>&1 || true`, { timeoutMs: 240_000 })).stdout;
  }

  /** The command that makes all attempts, or only fills the proxy. */
  async function buildAttack(mode = ''): Promise<string> {
    const [passed, inspected] = await Promise.all(
      ['sandlot-egress', 'sandlot-egress-inspect'].map((name) => readServiceAddress(name)),
    );
    const names = { listed: LISTED, ruled: RULED, second: SECOND, refused: REFUSED, inside: INSIDE };
    const given = JSON.stringify({ passed, inspected, outside: OUTSIDE, domain: `carried.${loggedDomain}`, ...names });
    return `python3 /tmp/attacks.py '${given}' ${mode}`;
  }

  async function tryAll(): Promise<typeof results> {
    const printed = await runIn(await buildAttack());
    try {
      return JSON.parse(printed) as typeof results;
    } catch {
      throw new Error(`attacks.py ended without results: ${printed}`);
    }
  }

  const pick = (...names: readonly string[]): unknown => names.map((name) => results[name]);

  it('reaches what its list has, over HTTP and TLS, and by a tunnel', () => {
    expect(pick('listed over HTTP', 'listed over TLS', 'ruled', 'tunnel', 'WebSocket')).toEqual([
      200,
      200,
      200,
      'answered',
      101,
    ]);
  });

  it('carries nothing out in names, of which the DNS server hears those of the list alone', async () => {
    expect(pick('names that carry data')).toEqual([[NO_SUCH_NAME]]);
    expect(pick('address of a refused name', 'text of a listed name', 'address of a listed name')).toEqual([
      [NO_SUCH_NAME, 0],
      [NO_ERROR, 0],
      [NO_ERROR, 1],
    ]);
    await runIn(`curl --silent http://${KNOWN}/echo`);
    await vi.waitFor(async () => expect(await readQuestions()).toContain(KNOWN), SOON);
    expect(await readQuestions()).not.toContain('carried');
  });

  it('gets no keys for encrypted names, and no IPv6 address', () => {
    expect(pick('keys for an encrypted name', 'IPv6 address of a listed name')).toEqual([
      [
        [NO_ERROR, 0],
        [NO_ERROR, 0],
      ],
      [NO_ERROR, 0],
    ]);
  });

  it('cannot forge the name in TLS or leave it out', () => {
    expect(pick('forged name in TLS', 'forged name in TLS, where TLS ends', 'no name in TLS')).toEqual([
      'tls: TLSV1_ALERT_ACCESS_DENIED',
      'tls: TLSV1_ALERT_ACCESS_DENIED',
      'tls: TLSV1_UNRECOGNIZED_NAME',
    ]);
  });

  it('cannot ask for another host than the one in TLS, and plain HTTP goes where its Host leads', () => {
    expect(pick('another host in HTTP/1.1', 'another host in HTTP/2', 'another host by an absolute target')).toEqual([
      421, 421, 421,
    ]);
    expect(pick('another host in plain HTTP', 'ruled over HTTP')).toEqual([403, 403]);
  });

  it('reaches no address, port or protocol past the proxy', () => {
    expect(pick('the address of the server', 'the server by IPv6', 'SSH', 'QUIC')).toEqual([
      ['not reached', 0],
      'not reached',
      ['not reached', 'not reached'],
      ['not reached', 'not reached'],
    ]);
    expect(pick('raw packets')).toEqual(['not permitted']);
  });

  it('gets no tunnel to other names, ports or addresses, nor one within another', () => {
    const tunnels = ['with another name in it', 'to a refused name', 'to another port', 'to an address'];
    expect(pick(...tunnels.map((each) => `tunnel ${each}`), 'tunnel in what is looked into')).toEqual([
      'tls: TLSV1_ALERT_ACCESS_DENIED',
      403,
      403,
      400,
      405,
    ]);
  });

  it('cannot reach the cluster by a name, also not by one that moves there after it was reached', async () => {
    expect(pick('a name that leads into the cluster')).toEqual([0]);
    const read = () => runIn(`curl --silent --cacert /tmp/ca.crt https://${MOVING}/echo`);
    await vi.waitFor(async () => expect(await read()).toContain(MOVING), SOON);
    await moveName(MOVING, API_SERVER);
    await vi.waitFor(async () => expect(await read()).toBe(''), SOON);
    expect(await runIn(`curl --silent http://${MOVING}/echo`)).toContain('egress_address_denied');
    await moveName(MOVING, OUTSIDE);
    await vi.waitFor(async () => expect(await read()).toContain(MOVING), SOON);
  });

  it('cannot smuggle a request past the rule, nor a header into one', () => {
    expect(pick('a space before the colon', 'two hosts', 'TRACE')).toEqual([400, 400, 403]);
    expect(pick('own credentials', 'a credential that is of the connection')).toEqual([200, 200]);
    expect(seen.paths).not.toContain('/admin');
    expect(seen.paths.filter((path) => path === '/echo').length).toBeGreaterThan(0);
    for (const { headers } of seen.requests) {
      const credentials = Object.entries(headers).filter(([name]) => /authorization|api.key/iu.test(name));
      expect(credentials.sort()).toEqual([
        ['authorization', `Bearer ${VALUES[RULED]}`],
        ['x-api-key', 'of the rule'],
      ]);
    }
  });

  it('cannot lead a request to another path than the rule has', () => {
    expect(pick('paths', 'an encoded slash')).toEqual([[403, 400, 400, 400, 400], 404]);
  });

  it('gets a credential neither by an echo in headers nor by a way past the proxy', async () => {
    const head = await runIn(`curl --silent --dump-header - --output /dev/null https://${RULED}/headers`);
    expect(head).toMatch(/x-seen: \*\*\*/iu);
    expect(head).not.toMatch(/alt-svc/iu);
    // The bracket keeps the search from finding itself.
    const places = '/proc/[0-9]*/environ /.sandlot /etc /home /root /run /tmp /var';
    expect(await runIn(`sudo grep -rlsE 'ruled-58c1d[e]' ${places}; echo searched`)).toBe('searched\n');
  });

  it('gets certificates of one name each, which a program that pins its own refuses', () => {
    expect(pick('names in the certificate', 'pinned certificate')).toEqual([[RULED], 'tls: CERTIFICATE_VERIFY_FAILED']);
  });

  it('gets 502 in place of headers without end', () => {
    expect(pick('large headers of an answer')).toEqual([502]);
  });

  it('opens no more connections than its limit, while another sandbox goes on', async () => {
    const crowd = await sandbox.commands.run(await buildAttack('crowd'), { background: true });
    await vi.waitFor(() => expect(upstream.streams.size).toBe(MAX_OPEN), SOON);
    await using other = await openSandbox({ network: { denyOut: ['0.0.0.0/0'], allowOut: [LISTED] } });
    expect((await other.commands.run(`curl --silent http://${LISTED}/echo`)).stdout).toContain(LISTED);
    expect(upstream.streams.size).toBe(MAX_OPEN);
    expect(JSON.parse((await crowd.wait()).stdout)).toEqual({ crowd: [MAX_OPEN, 429] });
  });

  it('loses an open connection when its name leaves the list, and no other one', async () => {
    const open = async (host: string) =>
      sandbox.commands.run(`curl --silent --no-buffer http://${host}/stream`, { background: true, timeoutMs: 0 });
    await open(LISTED);
    await open(MOVING);
    const listStreams = (): string[] => [...upstream.streams].map(({ host }) => host).sort();
    await vi.waitFor(() => expect(listStreams()).toEqual([LISTED, MOVING]), SOON);
    await setNames(sandbox, [MOVING, RULED]);
    await vi.waitFor(() => expect(listStreams()).toEqual([MOVING]), SOON);
  });
});
