import { describe, expect, it } from 'vitest';
import { decideAddress } from './decide.ts';
import type { AddressSnapshot, SeenClaim } from './plan/plan.ts';

const within = [{ cidr: '0.0.0.0/0', except: ['10.0.0.0/8'], ports: [] }];
const owned = (claim?: SeenClaim): AddressSnapshot => ({
  owner: { sandboxUid: 's', namespace: 'n', claim, within },
});
const claim = (isClosed: boolean, names: readonly string[] = []): SeenClaim => ({
  name: 'c',
  uid: 'u',
  wish: { isClosed, names, denied: ['192.0.2.0/24'] },
});

describe('an address', () => {
  it('that no sandbox has allows nothing', () => {
    expect(decideAddress({})).toBeUndefined();
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
    expect(decideAddress(owned(given))).toMatchObject({ uid: 's', namespace: 'n', within, ...expected });
  });
});
