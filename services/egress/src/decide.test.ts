import type { TemplateEgress } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { decideAddress } from './decide.ts';
import type { ProxiedTemplate, SeenClaim, SeenOwner } from './plan/plan.ts';

const within = [{ cidr: '0.0.0.0/0', except: ['10.0.0.0/8'], ports: [] }];
const denied = ['192.0.2.0/24'];
const decide = (claim: SeenClaim | undefined, egress?: TemplateEgress) => {
  const owner: SeenOwner = { sandboxUid: 's', namespace: 'n', template: 't', claim, egress, within, hasPolicy: true };
  return decideAddress({ owner })?.sandbox;
};
const claim = (isClosed: boolean, ...names: readonly string[]): SeenClaim => ({
  name: 'c',
  uid: 'u',
  wish: { isClosed, names, denied, isObserved: false, rules: [] },
});

it('an address that no sandbox has allows nothing', () => {
  expect(decideAddress({})).toBeUndefined();
});

it('says whose the address is', () => {
  const owner = { uid: 's', namespace: 'n', template: 't' };
  expect(decide({ name: 'c', uid: 'u' })).toMatchObject({ ...owner, claim: 'c', claimUid: 'u' });
  expect(decide(undefined)).toMatchObject({ ...owner, claim: '', claimUid: '' });
  const authored = { sandboxUid: 's', namespace: 'n', within, hasPolicy: true };
  expect(decideAddress({ owner: authored })?.sandbox).toMatchObject({ template: '' });
});

it('says by which text of the claim it decides, once it sees the policy of the template', () => {
  const of = (hasPolicy: boolean, text?: string) =>
    decideAddress({
      owner: { sandboxUid: 's', namespace: 'n', claim: { name: 'c', uid: 'u', text }, within, hasPolicy },
    })?.text;
  expect([of(true, '{}'), of(false, '{}'), of(true)]).toEqual(['{}', undefined, undefined]);
});

describe('a sandbox of a template that is OnDemand', () => {
  it.each([
    ['without a claim is open', undefined, { closed: false, names: [], denied: [] }],
    ['of a claim without a wish is open', { name: 'c', uid: 'u' }, { closed: false, names: [], denied: [] }],
    ['of a closed claim has its names', claim(true, 'a.b'), { closed: true, names: ['a.b'], denied }],
    ['of an open claim has none', claim(false, 'a.b'), { closed: false, names: [], denied }],
  ])('%s', (_name, given, expected) => {
    expect(decide(given, { mode: 'OnDemand' })).toMatchObject({ ...expected, within });
  });
});

describe('a list that is observed', () => {
  const observed: SeenClaim = {
    name: 'c',
    uid: 'u',
    wish: { isClosed: true, names: ['a.b'], denied: ['0.0.0.0/0'], isObserved: true, rules: [] },
  };
  const block = { cidr: '0.0.0.0/0', except: [], ports: [] };
  const template: ProxiedTemplate = { mode: 'Proxied', names: ['a.com'], within: [block], isObserved: true };
  const reported = { closed: true, observe: true, denied: [] };

  it('lets everything pass and is reported, of a claim as of a template', () => {
    expect(decide(observed, { mode: 'OnDemand' })).toMatchObject({ ...reported, names: ['a.b'] });
    expect(decide(undefined, template)).toMatchObject({ ...reported, names: ['a.com'] });
    expect(decide(observed, template)).toMatchObject({ ...reported, names: ['a.b'] });
  });

  it('does not open what another list closes', () => {
    expect(decide(observed, { ...template, isObserved: false })).toMatchObject({ observe: false, names: ['a.com'] });
    expect(decide(claim(true, 'x.y'), template)).toMatchObject({ closed: true, observe: false, names: ['x.y'] });
    expect(decide(observed)).toMatchObject({ closed: true, observe: false, names: [] });
  });
});

describe('a sandbox of a template that is Direct', () => {
  it.each([
    ['without a claim is open', undefined, { closed: false, names: [], denied: [] }],
    ['of a closed claim has no names', claim(true, 'a.b'), { closed: true, names: [], denied }],
    ['of an open claim has none', claim(false), { closed: false, names: [], denied }],
  ])('%s', (_name, given, expected) => {
    expect(decide(given)).toMatchObject({ ...expected, within });
  });
});

describe('a sandbox of a template that is Proxied', () => {
  const block = { cidr: '0.0.0.0/0', except: ['203.0.113.0/24'], ports: [] };
  const template: ProxiedTemplate = { mode: 'Proxied', names: ['a.com', '*.x.org:8443'], within: [block] };

  it.each([
    ['without a claim', undefined, template.names],
    ['of a claim without a wish', { name: 'c', uid: 'u' }, template.names],
    ['of an open claim', claim(false, 'b.com'), template.names],
    ['of a closed claim', claim(true, 'b.com', 'a.com:443', 'a.x.org'), ['a.com:443', 'a.x.org:8443']],
    ['of a closed claim without names', claim(true), []],
  ])('%s is closed but for its names', (_name, given, names) => {
    expect(decide(given, template)).toMatchObject({ closed: true, names });
  });

  it('goes by the addresses of the template for names, and not by its policy', () => {
    expect(decide(undefined, template)).toMatchObject({ within: [{ ...block, ports: [] }] });
    expect(decide(claim(true, 'a.com'), template)).toMatchObject({ within: [{ ...block, ports: [] }] });
  });

  it('loses the addresses that an open claim denies', () => {
    const except = ['203.0.113.0/24', ...denied];
    expect(decide(claim(false), template)).toMatchObject({ within: [{ ...block, except, ports: [] }] });
  });

  it('reaches nothing by an annotation that cannot be read', () => {
    const unreadable: TemplateEgress = { mode: 'Proxied', names: [], within: [] };
    expect(decide(undefined, unreadable)).toMatchObject({ closed: true, names: [], within: [] });
  });
});
