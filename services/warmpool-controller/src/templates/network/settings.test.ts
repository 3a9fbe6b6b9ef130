import { BLOCKED_IPV4, BLOCKED_IPV6 } from '@sandlot/api-types';
import { loadConfig } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findCidrProblem } from './blocks.ts';
import { networkVariables } from './settings.ts';

const load = (env: Record<string, string>) => loadConfig(z.object(networkVariables), env);

describe('a blocked CIDR', () => {
  it.each([
    ...BLOCKED_IPV4,
    ...BLOCKED_IPV6,
    '34.118.224.1/32',
    '2600:1900:4000::/36',
    '::1/128',
    '64:ff9b::8.8.8.0/120',
  ])('may be %s', (cidr) => {
    expect(findCidrProblem(cidr)).toBeUndefined();
  });

  it.each([
    ['10.0.0.0', 'is not a CIDR'],
    ['10.0.0.0/', 'is not a CIDR'],
    ['10.0.0/8', 'is not a CIDR'],
    ['010.0.0.0/8', 'is not a CIDR'],
    ['10.0.0.0/08', 'is not a CIDR'],
    ['fe80::%eth0/10', 'is not a CIDR'],
    ['example.com/8', 'is not a CIDR'],
    ['10.0.0.0/33', 'has a prefix longer than 32'],
    ['fc00::/129', 'has a prefix longer than 128'],
    ['0.0.0.0/0', 'is everything'],
    ['::/0', 'is everything'],
    ['10.0.0.1/8', 'has bits set behind its prefix of 8'],
    ['fc01::/7', 'has bits set behind its prefix of 7'],
    ['1:2:3:4:5:6:7:8/127', undefined],
    ['1:2:3:4:5:6:7:9/127', 'has bits set behind its prefix of 127'],
    ['::ffff:10.0.0.0/104', 'is an IPv4 block written as IPv6'],
    ['::ffff:a00:0/104', 'is an IPv4 block written as IPv6'],
  ])('%s: %s', (cidr, problem) => {
    if (problem === undefined) expect(findCidrProblem(cidr)).toBeUndefined();
    else expect(findCidrProblem(cidr)).toContain(problem);
  });
});

describe('the network settings', () => {
  it('are empty by default', () => {
    expect(load({})).toEqual({
      NETWORK_EXTRA_BLOCKED_CIDRS: [],
      NETWORK_EXTRA_EGRESS: [],
      NETWORK_PROTECT_AUTHORED_SANDBOXES: false,
    });
  });

  it('are parsed as the chart writes them', () => {
    const rules = [{ to: [{ ipBlock: { cidr: '10.0.0.10/32' } }], ports: [{ port: 53, protocol: 'UDP' }] }];
    expect(
      load({
        NETWORK_EXTRA_BLOCKED_CIDRS: '34.118.224.0/20,2600:1900::/28',
        NETWORK_EXTRA_EGRESS: JSON.stringify(rules),
        NETWORK_PROTECT_AUTHORED_SANDBOXES: 'true',
      }),
    ).toEqual({
      NETWORK_EXTRA_BLOCKED_CIDRS: ['34.118.224.0/20', '2600:1900::/28'],
      NETWORK_EXTRA_EGRESS: rules,
      NETWORK_PROTECT_AUTHORED_SANDBOXES: true,
    });
  });

  it.each([
    [
      'a block with host bits',
      'NETWORK_EXTRA_BLOCKED_CIDRS',
      '10.0.0.0/8,10.0.0.1/8',
      '10.0.0.1/8 has bits set behind',
    ],
    ['rules that are not a list', 'NETWORK_EXTRA_EGRESS', '{}', 'a JSON list of egress rules'],
    ['a rule with a field of ingress rules', 'NETWORK_EXTRA_EGRESS', '[{"from":[]}]', 'from'],
    ['an empty peer', 'NETWORK_EXTRA_EGRESS', '[{"to":[{}]}]', 'either an ipBlock or selectors'],
    [
      'a peer with both a block and a selector',
      'NETWORK_EXTRA_EGRESS',
      '[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8"},"podSelector":{}}]}]',
      'either an ipBlock or selectors',
    ],
  ] as const)('reject %s and name the variable', (...[, variable, value, message]) => {
    expect(() => load({ [variable]: value })).toThrow(message);
    expect(() => load({ [variable]: value })).toThrow(variable);
  });
});
