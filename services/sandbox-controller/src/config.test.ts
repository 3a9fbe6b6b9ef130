import { loadConfig } from '@sandlot/config';
import { describe, expect, it } from 'vitest';
import { sandboxSettings } from './config.ts';

describe('settings', () => {
  it('have a default for everything', () => {
    expect(loadConfig(sandboxSettings, {})).toMatchObject({
      CLUSTER_DOMAIN: 'cluster.local',
      UNSET_SERVICE: 'V1Alpha1',
    });
  });

  it('name the variable that is wrong and what it takes', () => {
    expect(() => loadConfig(sandboxSettings, { UNSET_SERVICE: 'Sometimes' })).toThrow(
      /UNSET_SERVICE: expected one of V1Alpha1, Never, Always, got "Sometimes"/,
    );
  });
});
