import { annotations, claimConditions, findCondition, sandboxClaims, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openUpstream } from '../support/egress/upstream.ts';
import { formatTemplateManifest } from '../support/manifests.ts';
import { getSandboxName, waitForReadyClaim } from '../support/sandboxes.ts';
import { readServiceAddress } from '../support/sdk/reach.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

/** An address that this machine takes while the tests run, from a block without hosts. */
const OUTSIDE = '192.175.48.79';
const [FIRST, SECOND] = ['first.list.example', 'second.list.example'] as const;
const SOON = { timeout: 30_000, interval: 100 };

const stack = new AsyncDisposableStack();
let team: Team;

beforeAll(async () => {
  stack.use(await openUpstream({ address: OUTSIDE, names: [FIRST, SECOND] }));
  team = stack.use(await createTeam('egress'));
});
afterAll(() => stack.disposeAsync());

const setEgress = (template: string, egress: object): Promise<string> =>
  team.kubectl('patch', 'sandboxtemplate', template, '--type=merge', '-p', JSON.stringify({ spec: { egress } }));

/** Creates a claim of the template with its name. */
async function createClaim(name: string, network?: string): Promise<void> {
  await team.client.create(sandboxClaims, {
    metadata: {
      namespace: team.namespace,
      name,
      annotations: network === undefined ? {} : { [annotations.network]: network },
    },
    spec: { sandboxTemplateRef: { name } },
  });
}

/** Makes a template and a claim of it, and returns the name of its Pod. */
async function start(name: string, egress: object, network?: string): Promise<string> {
  await team.apply(formatTemplateManifest(name));
  await setEgress(name, egress);
  await createClaim(name, network);
  return getSandboxName(await waitForReadyClaim(team, name));
}

/** The names and addresses of these that the Pod reaches over HTTP. Its `wget` does not run. */
async function listReached(pod: string, hosts: readonly string[] = [FIRST, SECOND]): Promise<readonly string[]> {
  const tries = hosts.map((host) => {
    const request = `{ printf 'GET /echo HTTP/1.0\\r\\nHost: ${host}\\r\\n\\r\\n'; sleep 1; }`;
    return `${request} | nc -w 3 ${host} 80 2>/dev/null | grep -q '"bytes"' && echo ${host}`;
  });
  return (await team.sh(pod, `${tries.join('; ')}; true`)).split('\n').filter((line) => line !== '');
}

describe('a template that is Proxied', () => {
  it('leads its sandboxes to the names of its list, which may change, and to its addresses', async () => {
    const pod = await start('proxied', { mode: 'Proxied', allow: [FIRST] });
    expect(await listReached(pod, [FIRST, SECOND, OUTSIDE])).toEqual([FIRST]);
    await setEgress('proxied', { allow: ['*.list.example', OUTSIDE] });
    await expect.poll(() => listReached(pod, [FIRST, SECOND, OUTSIDE]), SOON).toEqual([FIRST, SECOND, OUTSIDE]);
    await setEgress('proxied', { allow: [SECOND] });
    await expect.poll(() => listReached(pod, [FIRST, SECOND, OUTSIDE]), SOON).toEqual([SECOND]);
  });

  it('is narrowed by a claim, and never widened', async () => {
    const network = '{"denyOut":["0.0.0.0/0"],"allowOut":["second.list.example","third.example"]}';
    const pod = await start('narrowed', { mode: 'Proxied', allow: ['*.list.example'] }, network);
    await expect.poll(() => listReached(pod), SOON).toEqual([SECOND]);
  });

  it('reaches nothing by a list with a mistake, and says where it is', async () => {
    const pod = await start('mistaken', { mode: 'Proxied', allow: [FIRST, 'https://second.list.example'] });
    expect(await listReached(pod)).toEqual([]);
    const { status } = await team.client.get(sandboxTemplates, { namespace: team.namespace, name: 'mistaken' });
    const ready = findCondition(status?.conditions, 'EgressReady');
    expect([ready?.status, ready?.reason]).toEqual(['False', 'InvalidEgress']);
    expect(ready?.message).toContain('"https://second.list.example"');
  });
});

describe('a template that is OnDemand', () => {
  it('lets its sandboxes reach what they reached before, by name and by address', async () => {
    const pod = await start('open', { mode: 'OnDemand' });
    expect(await listReached(pod, [FIRST, SECOND, OUTSIDE])).toEqual([FIRST, SECOND, OUTSIDE]);
  });
});

describe('a template that is Direct', () => {
  it('refuses a claim that lists names, before it takes a Sandbox', async () => {
    await team.apply(formatTemplateManifest('direct'));
    await setEgress('direct', { mode: 'Direct' });
    const network = '{"denyOut":["0.0.0.0/0"],"allowOut":["first.list.example"]}';
    await createClaim('direct', network);
    const findReady = async (): Promise<ReturnType<typeof findCondition>> => {
      const { status }: SandboxClaim = await team.client.get(sandboxClaims, {
        namespace: team.namespace,
        name: 'direct',
      });
      return findCondition(status?.conditions, claimConditions.ready);
    };
    const ready = await eventually('the claim is refused', findReady);
    expect([ready.status, ready.reason]).toEqual(['False', 'EgressNotAvailable']);
    expect(ready.message).toContain('SandboxTemplate "direct"');
  });
});

describe('a template with rules of its own', () => {
  const setBlock = (template: string, cidr: string): Promise<string> =>
    team.kubectl(
      ...['patch', 'sandboxtemplate', template, '--type=merge', '-p'],
      JSON.stringify({ spec: { networkPolicy: { ingress: [], egress: [{ to: [{ ipBlock: { cidr } }] }] } } }),
    );

  it('leads a name to the addresses that it has alone', async () => {
    await team.apply(formatTemplateManifest('blocks'));
    await setBlock('blocks', '192.175.48.0/24');
    await setEgress('blocks', { mode: 'OnDemand' });
    await createClaim('blocks', `{"denyOut":["0.0.0.0/0"],"allowOut":["${FIRST}"]}`);
    const pod = getSandboxName(await waitForReadyClaim(team, 'blocks'));
    await expect.poll(() => listReached(pod), SOON).toEqual([FIRST]);
    await setBlock('blocks', '203.0.114.0/24');
    await expect.poll(() => listReached(pod), SOON).toEqual([]);
  });
});

describe('a Pod that is no sandbox', () => {
  /** Starts a Pod that asks the resolver of sandboxes, and tries to reach a name by the proxy. */
  async function tryAs(name: string, labels: object): Promise<string> {
    const proxy = await readServiceAddress('sandlot-egress');
    const container = { name: 'box', image: 'busybox', command: ['sleep', 'infinity'] };
    const spec = { containers: [container], terminationGracePeriodSeconds: 0 };
    await team.apply(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec }));
    await team.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s');
    const request = `{ printf 'GET /echo HTTP/1.0\\r\\nHost: ${FIRST}\\r\\n\\r\\n'; sleep 1; }`;
    const tries = [
      `nc -w 2 ${proxy} 80 < /dev/null && echo connected`,
      `${request} | nc -w 2 ${proxy} 80 | grep -q '"bytes"' && echo answered`,
      `nslookup -type=a ${FIRST} ${proxy} | grep -q '^Name' && echo resolved`,
    ];
    return team.sh(name, `${tries.map((each) => `{ ${each}; } 2>/dev/null`).join('; ')}; true`);
  }

  it('does not reach the proxy, and is refused by it with the labels of a sandbox', async () => {
    expect(await tryAs('stranger', {})).toBe('');
    expect(await tryAs('disguised', { 'agents.x-k8s.io/sandbox-name-hash': '0badc0de' })).toBe('connected');
  });
});

it('the API server refuses a list that nothing would use', async () => {
  await team.apply(formatTemplateManifest('refused'));
  await expect(setEgress('refused', { mode: 'OnDemand', allow: [FIRST] })).rejects.toThrow(/egress.mode Proxied/);
});
