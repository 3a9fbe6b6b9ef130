import { expect, it } from 'vitest';
import type { HeldAddress, PlaneSandbox } from '../plan/plan.ts';
import { findApplied } from './find-applied.ts';

const sandbox: PlaneSandbox = {
  uid: 's',
  namespace: 'n',
  template: 't',
  claim: 'c',
  claimUid: 'u',
  closed: true,
  observe: false,
  names: [],
  within: [],
  denied: [],
  rules: [],
  proofs: [],
};
const held = (address: string, text: string | undefined): HeldAddress => ({ address, sandbox, text });

it.each<[string, readonly HeldAddress[], readonly string[], object | undefined]>([
  ['of a claim without addresses is not', [], [], undefined],
  ['of one address is', [held('a', '{}')], ['a'], { text: '{}', addresses: ['a'] }],
  ['of two addresses is', [held('a', '{}'), held('b', '{}')], ['a', 'b'], { text: '{}', addresses: ['a', 'b'] }],
  ['of two addresses, one of which is not complete, is not', [held('a', '{}'), held('b', '{}')], ['a'], undefined],
  ['that only one of two addresses has is not', [held('a', '{}'), held('b', '[]')], ['a', 'b'], undefined],
  ['that one address has, and another none, is not', [held('a', '{}'), held('b', undefined)], ['a', 'b'], undefined],
  ['of a claim without the annotation is not', [held('a', undefined)], ['a'], undefined],
])('a text %s applied', (...[, given, complete, expected]) => {
  expect(findApplied(given, ({ address }) => complete.includes(address))).toEqual(expected);
});
