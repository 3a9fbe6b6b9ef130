import { describe, expect, it } from 'vitest';
import { claim, pool, sandbox, template } from '../test/index.ts';
import { parseSandbox, parseSandboxClaim, parseSandboxTemplate, parseSandboxWarmPool } from './parse.ts';

describe('parsing from outside', () => {
  it('accepts the objects of the builders', () => {
    expect(parseSandbox(sandbox())).toMatchObject(sandbox());
    expect(parseSandboxClaim(claim())).toMatchObject(claim());
    expect(parseSandboxTemplate(template())).toMatchObject(template());
    expect(parseSandboxWarmPool(pool())).toMatchObject(pool());
  });

  it('fills in the defaults of the schema', () => {
    const parsed = parseSandbox(sandbox({ spec: { podFailurePolicy: {} } }));
    expect(parsed.spec.podFailurePolicy).toEqual({
      restart: 'Never',
      maxRestarts: 5,
      backoffSeconds: 10,
      maxBackoffSeconds: 300,
      resetAfterSeconds: 600,
    });
    expect(parseSandboxClaim(claim()).spec).toMatchObject({ createOnNoStock: true, skipInitRuntime: false });
  });

  it('sets no default for spellings that exclude each other', () => {
    expect(parseSandbox(sandbox()).spec).not.toHaveProperty('replicas');
    expect(parseSandbox(sandbox()).spec).not.toHaveProperty('operatingMode');
    expect(parseSandboxClaim(claim()).spec).not.toHaveProperty('warmpool');
  });

  it('prunes unknown fields and keeps the Pod spec as it is', () => {
    const spec = { ...sandbox().spec, colour: 'red' };
    expect(parseSandbox({ ...sandbox(), spec }).spec).not.toHaveProperty('colour');
    expect(parseSandbox(sandbox()).spec.podTemplate).toEqual(sandbox().spec.podTemplate);
  });

  const wrong: [string, () => unknown][] = [
    ['a Sandbox without a podTemplate', () => parseSandbox({ ...sandbox(), spec: {} })],
    ['a Pod spec that is not an object', () => parseSandbox({ ...sandbox(), spec: { podTemplate: { spec: [] } } })],
    [
      'an unknown operating mode',
      () => parseSandbox({ ...sandbox(), spec: { ...sandbox().spec, operatingMode: 'Off' } }),
    ],
    ['a claim timeout that is no duration', () => parseSandboxClaim(claim({ spec: { claimTimeout: 'soon' } }))],
    ['a pool of minus one', () => parseSandboxWarmPool(pool({ spec: { replicas: -1 } }))],
    ['an empty reference', () => parseSandboxWarmPool(pool({ spec: { sandboxTemplateRef: { name: '' } } }))],
    ['no metadata', () => parseSandboxTemplate({ spec: template().spec })],
  ];
  it.each(wrong)('refuses %s', (_name, parse) => {
    expect(parse).toThrow();
  });
});
