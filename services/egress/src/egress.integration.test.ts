import { formatTemplateEgress, sandboxClaims, sandboxes } from '@sandlot/api-types';
import { leases, pods, services } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { DataPlane } from '../test/data-plane.ts';
import { closed, EgressStack, LISTED, OTHER, PATIENCE, POD, SERVICES, SYSTEM, TEAM } from '../test/stack.ts';

const namespace = TEAM;
let stack: EgressStack;
let client: KubeClient;
let plane: DataPlane;

beforeAll(async () => {
  stack = await EgressStack.start();
  ({ client, plane } = stack);
});
afterAll(() => stack[Symbol.asyncDispose]());

describe('a sandbox whose claim names the hosts that it may reach', () => {
  it('hears of them alone, and of a change of the claim', async () => {
    await stack.claim('listed', '127.0.52.1', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.1', { [LISTED]: stack.proxy, [OTHER]: 'ENOTFOUND' });
    await stack.setNetwork('listed', closed(OTHER));
    await stack.expectAnswers('127.0.52.1', { [LISTED]: 'ENOTFOUND', [OTHER]: stack.proxy });
  });

  it('hears of nothing when the annotation cannot be read, and when the claim is gone', async () => {
    await stack.claim('unread', '127.0.52.2', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.2', { [LISTED]: stack.proxy });
    await stack.setNetwork('unread', '{');
    await stack.expectAnswers('127.0.52.2', { [LISTED]: 'ENOTFOUND' });
    await stack.setNetwork('unread', closed(LISTED));
    await stack.expectAnswers('127.0.52.2', { [LISTED]: stack.proxy });
    await client.delete(sandboxClaims, { namespace, name: 'unread' });
    await stack.expectAnswers('127.0.52.2', { [LISTED]: 'ENOTFOUND' });
  });

  it('a sandbox without a wish has its questions forwarded', async () => {
    await stack.claim('plain', '127.0.52.3');
    await stack.expectAnswers('127.0.52.3', { [LISTED]: 'ESERVFAIL' });
  });

  it('an address that no Pod has, or two, is refused', async () => {
    expect(await plane.ask('127.0.52.99', LISTED)).toBe('EREFUSED');
    await stack.claim('first', '127.0.52.4', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.4', { [LISTED]: stack.proxy });
    await stack.claim('second', '127.0.52.4', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.4', { [LISTED]: 'EREFUSED' });
    await client.delete(pods, { namespace, name: 'first' }, { gracePeriodSeconds: 0 });
    await stack.expectAnswers('127.0.52.4', { [LISTED]: stack.proxy });
  });

  it('a Pod that has ended loses everything', async () => {
    await stack.claim('ended', '127.0.52.5', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.5', { [LISTED]: stack.proxy });
    await client.mergePatch(
      pods,
      { namespace, name: 'ended' },
      { status: { phase: 'Failed' } },
      { subresource: 'status' },
    );
    await stack.expectAnswers('127.0.52.5', { [LISTED]: 'EREFUSED' });
  });

  it('a Pod whose Sandbox does not exist is none', async () => {
    await stack.createPod('forged', 'listed', { uid: '00000000-0000-0000-0000-000000000000' });
    await stack.start('forged', '127.0.52.6');
    await stack.claim('after', '127.0.52.7', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.7', { [LISTED]: stack.proxy });
    expect(await plane.ask('127.0.52.6', LISTED)).toBe('EREFUSED');
  });
});

describe('a Pod of another namespace that names the Sandbox as its owner', () => {
  it('has nothing of its list', async () => {
    await stack.claim('coveted', '127.0.52.26', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.26', { [LISTED]: stack.proxy });
    const { uid } = (await client.get(sandboxes, { namespace, name: 'coveted' })).metadata;
    await stack.createPod('thief', 'coveted', { uid, inNamespace: SYSTEM });
    await stack.start('thief', '127.0.52.27', SYSTEM);
    await stack.claim('later', '127.0.52.28', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.28', { [LISTED]: stack.proxy });
    expect(await plane.ask('127.0.52.27', LISTED)).toBe('EREFUSED');
  });
});

describe('a sandbox of a template', () => {
  const names = formatTemplateEgress({
    mode: 'Proxied',
    names: ['*.example.com'],
    within: [{ cidr: '0.0.0.0/0', except: [], ports: [] }],
  });

  it('that is Proxied hears of the names of the template, and of those alone that its claim keeps of them', async () => {
    const template = 'proxied';
    await stack.createPolicy(template, names);
    await stack.claim('all', '127.0.52.11', { template });
    await stack.claim('some', '127.0.52.12', { template, network: closed(LISTED, 'example.net') });
    await stack.expectAnswers('127.0.52.11', {
      [LISTED]: stack.proxy,
      [OTHER]: stack.proxy,
      'example.net': 'ENOTFOUND',
    });
    await stack.expectAnswers('127.0.52.12', {
      [LISTED]: stack.proxy,
      [OTHER]: 'ENOTFOUND',
      'example.net': 'ENOTFOUND',
    });
    await stack.setEgress(template, '{');
    await stack.expectAnswers('127.0.52.11', { [LISTED]: 'ENOTFOUND' });
    await stack.expectAnswers('127.0.52.12', { [LISTED]: 'ENOTFOUND' });
  });

  it('that is Direct hears of no name of its claim, until the template has the proxy', async () => {
    await stack.createPolicy('direct');
    await stack.claim('direct', '127.0.52.13', { template: 'direct', network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.13', { [LISTED]: 'ENOTFOUND' });
    await stack.setEgress('direct', formatTemplateEgress({ mode: 'OnDemand' }));
    await stack.expectAnswers('127.0.52.13', { [LISTED]: stack.proxy });
  });

  it('whose policy is not there hears of nothing', async () => {
    await stack.claim('unseen', '127.0.52.14', { template: 'later' });
    await stack.expectAnswers('127.0.52.14', { [LISTED]: 'ENOTFOUND' });
    await stack.createPolicy('later', names);
    await stack.expectAnswers('127.0.52.14', { [LISTED]: stack.proxy });
  });
});

describe('what a sandbox was refused', () => {
  const read = (path: string): ReturnType<EgressStack['readReport']> => stack.readReport(`refusals/${path}`);

  it('is counted for its claim, until that is gone', async () => {
    await stack.claim('refused', '127.0.52.15', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.15', { [LISTED]: stack.proxy });
    const { uid = '' } = (await client.get(sandboxClaims, { namespace, name: 'refused' })).metadata;
    await plane.ask('127.0.52.15', OTHER);
    const counted = { protocol: 'dns', host: OTHER, reason: 'not_listed', count: expect.any(Number) as number };
    await vi.waitFor(async () => {
      const [status, body] = await read(`${namespace}/${uid}`);
      expect(status).toBe(200);
      expect(body).toEqual({ refusals: expect.arrayContaining([expect.objectContaining(counted)]) as unknown });
    }, PATIENCE);
    expect(await read(`other/${uid}`)).toEqual([404, { error: 'there is no such claim' }]);
    await client.delete(sandboxClaims, { namespace, name: 'refused' });
    await vi.waitFor(async () => expect((await read(`${namespace}/${uid}`))[0]).toBe(404), PATIENCE);
  });

  it('is only read', async () => {
    const answer = await stack.fetchReport(`refusals/${namespace}/x`, { method: 'DELETE' });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET']);
  });
});

it('the Lease of a replica goes with its Pod', async () => {
  const { metadata } = await client.get(leases, { namespace: SYSTEM, name: `egress-${POD}` });
  expect(metadata.ownerReferences).toEqual([{ apiVersion: 'v1', kind: 'Pod', name: POD, uid: stack.podUid }]);
});

describe('the metrics', () => {
  it('of the data plane say the namespace and the template of a sandbox', async () => {
    await stack.claim('measured', '127.0.52.16', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.16', { [LISTED]: stack.proxy, [OTHER]: 'ENOTFOUND' });
    expect(await plane.fetchMetrics()).toMatch(
      /^sandlot_egress_connections_total\{decision="refused",namespace="team",protocol="dns",reason="not_listed",template="base"\} [1-9]/m,
    );
  });

  it('of the rules process say that the data plane is connected and has confirmed everything', async () => {
    await vi.waitFor(async () => {
      const page = await stack.fetchMetrics();
      expect(page).toContain('sandlot_egress_plane_connected 1\n');
      expect(page).toContain('sandlot_egress_plane_unconfirmed 0\n');
    }, PATIENCE);
  });
});

describe('when a Service of the proxy', () => {
  it('is gone the list holds and the replica is not ready, until it is back, at another address', async () => {
    await stack.claim('moved', '127.0.52.10', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.10', { [LISTED]: stack.proxy });
    await client.delete(services, { namespace: SYSTEM, name: SERVICES.passed });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(false), PATIENCE);
    expect(await plane.ask('127.0.52.10', LISTED)).toBe(stack.proxy);
    stack.proxy = await stack.createService(SERVICES.passed);
    await stack.expectAnswers('127.0.52.10', { [LISTED]: stack.proxy, [OTHER]: 'ENOTFOUND' });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });
});

describe('when a process is killed', () => {
  it('a new data plane gets everything', async () => {
    await stack.claim('kept', '127.0.52.8', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.8', { [LISTED]: stack.proxy });
    await plane.restart();
    await stack.expectAnswers('127.0.52.8', { [LISTED]: stack.proxy, [OTHER]: 'ENOTFOUND' });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });

  it('without the rules process the list holds and the replica is not ready, until it is back with what changed meanwhile', async () => {
    await stack.claim('orphan', '127.0.52.9', { network: closed(LISTED) });
    await stack.expectAnswers('127.0.52.9', { [LISTED]: stack.proxy });
    await stack.killRules();
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(false), PATIENCE);
    expect(await plane.ask('127.0.52.9', LISTED)).toBe(stack.proxy);
    await stack.setNetwork('orphan', closed(OTHER));
    await stack.startRules();
    await stack.expectAnswers('127.0.52.9', { [LISTED]: 'ENOTFOUND', [OTHER]: stack.proxy });
    await vi.waitFor(async () => expect(await plane.isReady()).toBe(true), PATIENCE);
  });
});
