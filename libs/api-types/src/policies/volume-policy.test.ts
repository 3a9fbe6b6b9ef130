import { describe, expect, it } from 'vitest';
import type { VolumeClaimTemplate } from '../objects.ts';
import { mergeVolumeClaimTemplates } from './volume-policy.ts';
import type { VolumeRequest } from './volume-policy.ts';

function volume(name: string, storage = '1Gi'): VolumeClaimTemplate {
  return { metadata: { name }, spec: { resources: { requests: { storage } } } };
}

function merged(request: VolumeRequest): (string | undefined)[] {
  const outcome = mergeVolumeClaimTemplates(request);
  return outcome.kind === 'merged' ? outcome.volumeClaimTemplates.map(({ metadata }) => metadata?.name) : [];
}

function message(request: VolumeRequest): string | undefined {
  const outcome = mergeVolumeClaimTemplates(request);
  return outcome.kind === 'refused' ? outcome.message : undefined;
}

describe('mergeVolumeClaimTemplates', () => {
  const template = [volume('work'), volume('cache')];

  it('uses the template alone for a claim without volumes, under any policy', () => {
    expect(merged({ template, claim: [], policy: undefined })).toEqual(['work', 'cache']);
  });

  it('appends under Allowed', () => {
    expect(merged({ template, claim: [volume('data')], policy: 'Allowed' })).toEqual(['work', 'cache', 'data']);
  });

  it('replaces in place and appends new names under Overrides', () => {
    const outcome = mergeVolumeClaimTemplates({
      template,
      claim: [volume('data'), volume('work', '9Gi')],
      policy: 'Overrides',
    });
    expect(outcome).toEqual({
      kind: 'merged',
      volumeClaimTemplates: [volume('work', '9Gi'), volume('cache'), volume('data')],
    });
  });

  it.each([['Disallowed' as const], [undefined]])('refuses a claim volume under policy %s', (policy) => {
    expect(message({ template, claim: [volume('data')], policy })).toBe(
      'failed to merge volume claim templates: volume claim templates are disallowed by the template',
    );
  });

  it('refuses an override under Allowed', () => {
    expect(message({ template, claim: [volume('cache')], policy: 'Allowed' })).toBe(
      'failed to merge volume claim templates: overriding volume claim templates is forbidden by the template: cannot override template volume "cache"',
    );
  });

  const nameless: VolumeClaimTemplate = { spec: {} };
  const merging = 'failed to merge volume claim templates: ';
  const problem = 'invalid volume claim templates: ';
  const cases: { inTemplate: VolumeClaimTemplate[]; claim: VolumeClaimTemplate[]; text: string }[] = [
    { inTemplate: [], claim: [volume('a'), nameless], text: `${merging}claim: ${problem}name at index 1 is empty` },
    { inTemplate: [], claim: [volume('a'), volume('a')], text: `${merging}claim: ${problem}duplicate name "a"` },
    { inTemplate: [nameless], claim: [volume('a')], text: `${merging}template: ${problem}name at index 0 is empty` },
    {
      inTemplate: [nameless],
      claim: [],
      text: `invalid volume claim templates in template: ${problem}name at index 0 is empty`,
    },
  ];
  it.each(cases)('refuses a bad name: $text', ({ inTemplate, claim, text }) => {
    expect(message({ template: inTemplate, claim, policy: 'Allowed' })).toBe(text);
  });
});
