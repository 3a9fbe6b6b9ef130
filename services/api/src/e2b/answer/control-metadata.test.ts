import { TokenKeys } from '@sandlot/tenancy';
import { claim, sandbox } from '@sandlot/api-types/testing';
import { describe, expect, it } from 'vitest';
import { CONTROL_VIEW } from '../../claim/annotations.ts';
import { buildListing } from './sandbox.ts';

const OPTIONS = {
  tokenKeys: new TokenKeys({ key: Buffer.alloc(32).toString('base64'), number: 1 }),
  envdVersion: '0.6.4',
  domain: undefined,
};
const PREFIX = 'e2b.agents.kruise.io/';
const served = sandbox({ name: 'pool-x', status: { podIPs: ['10.0.0.9', 'fd00::9'] } });

describe('the metadata of a sandbox that was created', () => {
  it.each([
    ['without a control key', {}, {}],
    ['with one', { [CONTROL_VIEW]: 'resource' }, { [`${PREFIX}sandbox-resource`]: 'default/pool-x' }],
    [
      'with return-sandbox-ip',
      { [CONTROL_VIEW]: 'resource,ip' },
      { [`${PREFIX}sandbox-resource`]: 'default/pool-x', [`${PREFIX}sandbox-ip`]: '10.0.0.9' },
    ],
  ])('%s shows what clients of OpenKruise expect', (_, annotations, expected) => {
    const listed = buildListing({ claim: claim({ metadata: { annotations } }), sandbox: served }, OPTIONS);
    expect(listed.metadata).toEqual(expected);
  });
});
