import { describe, expect, it } from 'vitest';
import { readPolicyEgress } from './policy-blocks.ts';
import type { PolicyEgress } from './policy-blocks.ts';

const PUBLIC = { ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } };

describe('what the template lets through', () => {
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
    expect(readPolicyEgress(egress)).toEqual(expected);
  });
});
