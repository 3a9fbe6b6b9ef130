import { expect, it } from 'vitest';
import { findSandboxId, getTemplateId, isMadeByApi } from './api-claims.ts';

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

it.each([
  ['the pool', {}, { warmPoolRef: { name: 'pool' } }, 'pool'],
  ['the template without a pool', {}, { sandboxTemplateRef: { name: 'template' } }, 'template'],
  [
    'the template of the source, for a fork',
    { 'sandlot.dev/forked-template': 'source' },
    { sandboxTemplateRef: { name: 'saved' } },
    'source',
  ],
  ['nothing, for a claim that names neither', {}, {}, ''],
])('the id of the template names %s', (...[, annotations, spec, expected]) => {
  expect(getTemplateId({ metadata: { annotations }, spec })).toBe(expected);
});

it('the id of a template that was built over the API is the same for all its tags, and for a fork that of its source', () => {
  const labels = { 'sandlot.dev/template-id': 'built' };
  const spec = { sandboxTemplateRef: { name: 'built-0123456789' } };
  expect(getTemplateId({ metadata: { labels }, spec })).toBe('built');
  const annotations = { 'sandlot.dev/forked-template': 'source' };
  expect(getTemplateId({ metadata: { labels, annotations }, spec })).toBe('source');
});
