import { findTemplateEgress, readPolicyEgress } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import type { SandboxTemplateSpec } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { NETWORK } from '../../../test/template-harness.ts';
import { checkEgress } from './check-egress.ts';
import { buildNotes, buildRules } from './policy.ts';
import { buildDefaultRules } from './rules.ts';
import type { NetworkSettings } from './settings.ts';

const PROXY = { namespace: 'sandlot-system', podLabels: { app: 'egress' }, ports: [80, 443] };
const WITH_PROXY: NetworkSettings = {
  ...NETWORK,
  egressMode: 'OnDemand',
  egressProxy: PROXY,
  hasEgressRules: true,
};
const TO_PROXY = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'sandlot-system' } },
      podSelector: { matchLabels: { app: 'egress' } },
    },
  ],
  ports: [
    { port: 53, protocol: 'UDP' },
    { port: 53, protocol: 'TCP' },
    { port: 80, protocol: 'TCP' },
    { port: 443, protocol: 'TCP' },
  ],
};
const PUBLIC = buildDefaultRules(NETWORK).egress;
const proxied = (...allow: string[]): Partial<SandboxTemplateSpec> => ({ egress: { mode: 'Proxied', allow } });

function read(spec: Partial<SandboxTemplateSpec>, settings = WITH_PROXY): { egress: unknown; note: unknown } {
  const made = template({ spec });
  const note = buildNotes(made, settings)['sandlot.dev/egress'];
  return { egress: buildRules(made, settings).egress, note: note === undefined ? undefined : JSON.parse(note) };
}

describe('header rules of a template', () => {
  const rules = [{ host: 'API.example.com', headers: [{ name: 'X-Team', value: 'a' }] }];

  it('go to the proxy in either mode', () => {
    expect(read({ egress: { rules } }).note).toEqual({ mode: 'OnDemand', rules });
    expect(read({ egress: { mode: 'Proxied', rules } }).note).toMatchObject({ mode: 'Proxied', rules });
  });

  it('are read by the proxy in their normal form, and close the template while they have a mistake', () => {
    const parse = (spec: Partial<SandboxTemplateSpec>) => {
      const metadata = { annotations: buildNotes(template({ spec }), WITH_PROXY) };
      return findTemplateEgress({ metadata });
    };
    const [host, headers] = ['api.example.com', rules[0]?.headers];
    expect(parse({ egress: { rules } })).toEqual({
      mode: 'OnDemand',
      rules: [{ host, methods: [], paths: [], headers }],
    });
    expect(parse({ egress: { rules: [{ host: 'a.b' }, { host: 'A.b' }] } })).toEqual({
      mode: 'Proxied',
      names: [],
      within: [],
    });
  });

  it.each<[string, Partial<SandboxTemplateSpec>, string, boolean?]>([
    ['with a mistake', { egress: { rules: [{ host: 'a.b' }, { host: 'nothing' }] } }, 'rule 2 host: is no name'],
    [
      'for a host that is never let through',
      { egress: { rules: [{ host: 'metadata.google.internal' }] } },
      'rule 1 host: is no name such as example.com or *.example.com: names that end in internal are never let through',
    ],
    ['of a template that has rules of its own', { egress: { rules }, networkPolicy: {} }, 'this template is Direct'],
    ['where the installation has none', { egress: { rules } }, 'egress.credentials.enabled=true', false],
  ])('%s are reported on the template', (...[, spec, words, hasEgressRules = true]) => {
    const network = { ...WITH_PROXY, hasEgressRules };
    const finding = checkEgress({ template: template({ spec }), network });
    expect(finding).toMatchObject({ status: 'False', reason: 'InvalidEgress' });
    expect(finding?.message).toContain(words);
  });
});

it('lets the proxy ask the daemons of sandboxes that use it who they are', () => {
  const asks = { from: TO_PROXY.to, ports: [{ port: 49_983, protocol: 'TCP' }] };
  const ingress = (spec: Partial<SandboxTemplateSpec>) => buildRules(template({ spec }), WITH_PROXY).ingress;
  expect(ingress({})).toEqual([...buildDefaultRules(NETWORK).ingress, asks]);
  expect(ingress({ egress: { mode: 'OnDemand' }, networkPolicy: { ingress: [] } })).toEqual([asks]);
  expect(ingress({ egress: { mode: 'Direct' } })).toEqual(buildDefaultRules(NETWORK).ingress);
});

describe('the egress rules of a template', () => {
  it('let Pods reach the proxy beside what they reached before', () => {
    expect(read({})).toEqual({ egress: [...PUBLIC, TO_PROXY], note: { mode: 'OnDemand' } });
  });

  it('let Proxied ones reach the proxy and the addresses of the list alone', () => {
    const { egress, note } = read(proxied('example.com', '1.1.1.1', '*.example.org:8443', '10.0.0.1'));
    expect(egress).toEqual([{ to: [{ ipBlock: { cidr: '1.1.1.1/32' } }] }, TO_PROXY]);
    expect(note).toEqual({
      mode: 'Proxied',
      names: ['example.com', '*.example.org:8443'],
      within: readPolicyEgress(PUBLIC),
    });
  });

  it('say within which rules of its own the addresses of names have to be', () => {
    const own = [{ to: [{ ipBlock: { cidr: '192.0.3.0/24' } }], ports: [{ port: 443 }] }];
    const { egress, note } = read({ ...proxied('example.com'), networkPolicy: { egress: own } });
    expect([egress, note]).toEqual([
      [TO_PROXY],
      { mode: 'Proxied', names: ['example.com'], within: [{ cidr: '192.0.3.0/24', except: [], ports: [[443, 443]] }] },
    ]);
  });

  it.each<[string, Partial<SandboxTemplateSpec>, NetworkSettings]>([
    ['with rules of its own', { networkPolicy: { egress: PUBLIC } }, WITH_PROXY],
    ['that is Direct', { egress: { mode: 'Direct' } }, WITH_PROXY],
    ['without a proxy', {}, NETWORK],
    ['without a proxy that it asks for', { egress: { mode: 'OnDemand' } }, NETWORK],
  ])('stay as they were for a template %s', (_, spec, settings) => {
    expect(read(spec, settings)).toEqual({ egress: PUBLIC, note: undefined });
  });

  it('close a Proxied template but for addresses while there is no proxy', () => {
    const expected = { egress: [{ to: [{ ipBlock: { cidr: '1.1.1.1/32' } }] }], note: undefined };
    expect(read(proxied('example.com', '1.1.1.1'), NETWORK)).toEqual(expected);
  });

  it('let everything pass while the list of a Proxied template is observed', () => {
    const observed: Partial<SandboxTemplateSpec> = {
      egress: { mode: 'Proxied', allow: ['example.com'], enforcement: 'Observed' },
    };
    expect(read(observed)).toEqual({
      egress: [...PUBLIC, TO_PROXY],
      note: { mode: 'Proxied', names: ['example.com'], within: readPolicyEgress(PUBLIC), isObserved: true },
    });
    expect(read(observed, NETWORK).egress).toEqual([]);
  });

  it('allow nothing of a list with a mistake', () => {
    const { egress, note } = read(proxied('example.com', '1.1.1.1', 'https://example.com'));
    expect([egress, note]).toEqual([[TO_PROXY], { mode: 'Proxied', names: [], within: readPolicyEgress(PUBLIC) }]);
  });
});

describe('the condition EgressReady', () => {
  it.each<[string, Partial<SandboxTemplateSpec>, NetworkSettings, string | undefined]>([
    ['is absent where nothing says anything of names', {}, NETWORK, undefined],
    ['says Applied', {}, WITH_PROXY, 'True Applied'],
    ['says Direct', { egress: { mode: 'Direct' } }, WITH_PROXY, 'True Direct'],
    ['says ProxyMissing', { egress: { mode: 'OnDemand' } }, NETWORK, 'False ProxyMissing'],
    ['says InvalidEgress', proxied('localhost'), WITH_PROXY, 'False InvalidEgress'],
  ])('%s', (...[, spec, network, expected]) => {
    const found = checkEgress({ template: template({ spec }), network });
    expect(found && `${found.status} ${found.reason}`).toBe(expected);
  });

  it.each([
    ['cannot be read', 'b..com', '"b..com" is corrected: it is neither a name'],
    ['is never let through', '*.team.svc', '"*.team.svc" is corrected: names that end in svc are never let through'],
  ])('names the entry that %s', (_, entry, words) => {
    const { message } =
      checkEgress({ template: template({ spec: proxied('a.com', entry) }), network: WITH_PROXY }) ?? {};
    expect(message).toContain(words);
  });
});
