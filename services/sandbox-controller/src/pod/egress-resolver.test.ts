import { sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { buildPod } from './build-pod.ts';
import { findResolverRefusal, listServiceAddresses } from './egress-resolver.ts';

const RUNTIME = { image: '', publicKey: '', gatewayKeys: [], delivery: 'InitContainer', records: 'memory' } as const;
const RESOLVER = { service: 'sandlot-egress', addresses: ['10.96.0.53', 'fd00::35'] };
const NOWHERE = { service: 'sandlot-egress', addresses: [] };
const podTemplate = {
  spec: {
    containers: [{ name: 'main', image: 'busybox' }],
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['8.8.8.8'] },
  },
};
const owner = {
  apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
  kind: 'SandboxClaim',
  name: 'job',
  uid: 'uid-job',
  controller: true,
};
const steered = sandbox({
  metadata: { labels: { 'sandlot.dev/egress': 'steered' }, ownerReferences: [owner] },
  spec: { podTemplate },
});
const authored = sandbox({ metadata: { labels: { 'sandlot.dev/egress': 'steered' } }, spec: { podTemplate } });
const direct = sandbox({ metadata: { ownerReferences: [owner] }, spec: { podTemplate } });

const getServers = (of: typeof steered, egressResolver: typeof RESOLVER | undefined): unknown =>
  buildPod(of, { ...RUNTIME, egressResolver }, undefined).spec['dnsConfig'];

describe('the DNS of a Pod', () => {
  it('is the egress resolver at the address that it has now', () => {
    expect(getServers(steered, RESOLVER)).toEqual({ nameservers: RESOLVER.addresses });
    expect(buildPod(steered, RUNTIME, undefined).metadata.labels).toMatchObject({ 'sandlot.dev/egress': 'steered' });
  });

  it.each([
    ['of a template that is Direct', direct, RESOLVER],
    ['of a Sandbox whose author set the label', authored, RESOLVER],
    ['in an installation without a proxy', steered, undefined],
  ])('stays as it is written %s', (_, of, resolver) => {
    expect(getServers(of, resolver)).toEqual({ nameservers: ['8.8.8.8'] });
  });
});

describe('a Pod', () => {
  it('waits while the resolver has no address, and the message names its Service', () => {
    expect(findResolverRefusal(steered, NOWHERE)).toContain('Service "sandlot-egress"');
  });

  it('does not wait if it does not ask the resolver', () => {
    expect([direct, authored].map((of) => findResolverRefusal(of, NOWHERE))).toEqual([undefined, undefined]);
    expect([RESOLVER, undefined].map((resolver) => findResolverRefusal(steered, resolver))).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('the addresses of a Service', () => {
  it.each([
    [
      'are those of both families',
      { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
      ['10.0.0.1', 'fd00::1'],
    ],
    ['are the one of an older API server', { clusterIP: '10.0.0.1' }, ['10.0.0.1']],
    ['are none for a headless one', { clusterIP: 'None', clusterIPs: ['None'] }, []],
    ['are none before it has one', {}, []],
  ])('%s', (_, spec, expected) => {
    expect(listServiceAddresses({ metadata: {}, spec })).toEqual(expected);
  });

  it('are none without a Service', () => {
    expect(listServiceAddresses(undefined)).toEqual([]);
  });
});
