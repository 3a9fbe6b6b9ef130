import { loadConfig } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { apiSettings } from './config.ts';
import { readLogStore } from './log-store-settings.ts';

const read = (env: Record<string, string>) =>
  readLogStore(
    loadConfig(apiSettings, {
      POD_NAMESPACE: 'sandlot-system',
      KEYS_NAMESPACE: 'keys',
      ENVS_NAMESPACE: 'envs',
      ENVD_TOKEN_KEY: Buffer.alloc(32, 7).toString('base64'),
      LOG_STORE_URL: 'http://loki:3100',
      ...env,
    }),
  );

describe('the settings of the log store', () => {
  it.each([
    ['no credentials', {}, undefined],
    ['a token', { LOG_STORE_TOKEN: 'abc' }, 'Bearer abc'],
    ['a user with a password', { LOG_STORE_USER: 'u', LOG_STORE_PASSWORD: 'p:q' }, 'Basic dTpwOnE='],
  ])('have %s', (_name, env, authorization) => {
    const settings = read(env);
    expect(settings.authorization?.reveal()).toBe(authorization);
    expect(JSON.stringify(settings)).not.toContain(authorization ?? 'Bearer');
  });

  it('name the labels, and what all streams of sandboxes have', () => {
    expect(read({})).toMatchObject({ namespaceLabel: 'namespace', podLabel: 'pod', selector: {}, tenant: undefined });
    const env = {
      LOG_STORE_NAMESPACE_LABEL: 'k8s_namespace_name',
      LOG_STORE_SELECTOR: '{"cluster":"one"}',
      LOG_STORE_TENANT: 't',
    };
    expect(read(env)).toMatchObject({
      namespaceLabel: 'k8s_namespace_name',
      selector: { cluster: 'one' },
      tenant: 't',
    });
  });

  it.each([
    ['a token and a user', { LOG_STORE_TOKEN: 'a', LOG_STORE_USER: 'u', LOG_STORE_PASSWORD: 'p' }],
    ['a user without a password', { LOG_STORE_USER: 'u' }],
    ['a password without a user', { LOG_STORE_PASSWORD: 'p' }],
    ['a label that LogQL would read as more', { LOG_STORE_POD_LABEL: 'pod="x",other' }],
    ['a selector whose label is none', { LOG_STORE_SELECTOR: '{"a b":"c"}' }],
    ['a selector that is no object of texts', { LOG_STORE_SELECTOR: '["a"]' }],
  ])('are refused with %s', (_name, env) => {
    expect(() => read(env)).toThrow(/LOG_STORE_/);
  });
});
