import { describe, expect, it } from 'vitest';
import { decideAddress } from './decide.ts';
import type { AddressSnapshot, PolicyEgress, SeenClaim } from './plan/plan.ts';

const PUBLIC = { ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } };
const owned = (claim?: SeenClaim, templateEgress: PolicyEgress = [{ to: [PUBLIC] }]): AddressSnapshot => ({
  pods: [],
  owner: { sandboxUid: 's', namespace: 'n', claim, templateEgress },
});
const claim = (isClosed: boolean, names: readonly string[] = []): SeenClaim => ({
  name: 'c',
  uid: 'u',
  wish: { isClosed, names, denied: ['192.0.2.0/24'] },
});

describe('an address', () => {
  it('that no sandbox has allows nothing', () => {
    expect(decideAddress({ pods: [] })).toBeUndefined();
  });

  it.each([
    ['of a sandbox without a claim is open', undefined, { closed: false, names: [], denied: [], claim: '' }],
    [
      'of a claim without a wish is open',
      { name: 'c', uid: 'u' },
      { closed: false, names: [], denied: [], claim: 'c' },
    ],
    [
      'of a closed claim has its names',
      claim(true, ['a.b']),
      { closed: true, names: ['a.b'], denied: ['192.0.2.0/24'] },
    ],
    ['of an open claim has none', claim(false, ['a.b']), { closed: false, names: [], denied: ['192.0.2.0/24'] }],
  ])('%s', (_name, given, expected) => {
    expect(decideAddress(owned(given))).toMatchObject({ uid: 's', namespace: 'n', ...expected });
  });
});

describe('what the template lets through', () => {
  const read = (egress: PolicyEgress) => decideAddress(owned(undefined, egress))?.within;
  const block = (cidr: string, except: readonly string[], ports: readonly (readonly [number, number])[] = []) => ({
    cidr,
    except,
    ports,
  });
  const PUBLIC_BLOCK = block('0.0.0.0/0', ['10.0.0.0/8']);

  it.each<[string, PolicyEgress, unknown]>([
    ['is nothing without a policy or rules', [], []],
    ['has blocks and what they leave out', [{ to: [PUBLIC] }], [PUBLIC_BLOCK]],
    ['is everything without peers', [{}], [block('0.0.0.0/0', []), block('::/0', [])]],
    ['leaves selectors out', [{ to: [{ podSelector: {} }, PUBLIC] }], [PUBLIC_BLOCK]],
    [
      'has the TCP ports of a rule',
      [{ to: [PUBLIC], ports: [{ port: 443 }, { protocol: 'UDP', port: 53 }, { port: 8000, endPort: 8999 }] }],
      [
        block(
          '0.0.0.0/0',
          ['10.0.0.0/8'],
          [
            [443, 443],
            [8000, 8999],
          ],
        ),
      ],
    ],
    [
      'has every port of a protocol',
      [{ to: [PUBLIC], ports: [{ protocol: 'TCP' }] }],
      [block('0.0.0.0/0', ['10.0.0.0/8'], [[1, 65535]])],
    ],
    ['leaves out rules for UDP', [{ to: [PUBLIC], ports: [{ protocol: 'UDP', port: 443 }] }], []],
    ['leaves out ports that have a name', [{ to: [PUBLIC], ports: [{ port: 'https' }] }], []],
    ['leaves out what it cannot read', [{ to: 'all' }, { to: [PUBLIC], ports: 'all' }], []],
  ])('%s', (_name, egress, expected) => {
    expect(read(egress)).toEqual(expected);
  });
});
