import { expect, it } from 'vitest';
import { isMadeByApi, findSandboxId } from './api-claims.ts';

it.each([
  ['the API made a claim whose label is its name', { name: 'a1', labels: { 'sandlot.dev/sandbox-id': 'a1' } }, 'a1'],
  ['a label alone proves nothing', { name: 'other', labels: { 'sandlot.dev/sandbox-id': 'a1' } }, undefined],
  ['a claim without the label was made in another way', { name: 'a1', labels: {} }, undefined],
  ['a claim without labels was made in another way', { name: 'a1' }, undefined],
  ['a claim without a name has no id', { labels: { 'sandlot.dev/sandbox-id': 'a1' } }, undefined],
  ['an empty id is none', { name: '', labels: { 'sandlot.dev/sandbox-id': '' } }, undefined],
])('%s', (_, metadata, expected) => {
  expect(findSandboxId({ metadata })).toBe(expected);
  expect(isMadeByApi({ metadata })).toBe(expected !== undefined);
});
