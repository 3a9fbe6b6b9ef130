import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartFolder, template } from './chart.ts';

const invalid: readonly (readonly [string, object, RegExp])[] = [
  ['an unknown key at the top', { natz: {} }, /additional properties 'natz' not allowed/],
  ['an unknown key inside', { redis: { replicas: 3 } }, /'\/redis': additional properties 'replicas' not allowed/],
  [
    'text for a number',
    { claimController: { replicas: 'two' } },
    /'\/claimController\/replicas': got string, want integer/,
  ],
  ['a number out of range', { claimController: { concurrency: 0 } }, /'\/claimController\/concurrency': minimum/],
  ['a value outside the enum', { log: { level: 'loud' } }, /'\/log\/level': value must be one of 'debug', 'info', 'warn', 'error'/],
  [
    'an unknown delivery of the daemon',
    { runtime: { delivery: 'HostPath' } },
    /'\/runtime\/delivery': value must be one of 'InitContainer', 'ImageVolume'/,
  ],
  ['an invalid template name', { metrics: { templateLabels: ['a,b'] } }, /'\/metrics\/templateLabels\/0'/],
  ['a volume size without a unit', { nats: { persistence: { size: '2' } } }, /'\/nats\/persistence\/size'/],
  ['an unknown resource', { redis: { resources: { limits: { gpu: '1' } } } }, /additional properties 'gpu' not allowed/],
  ['a namespace with an upper-case letter', { watchNamespaces: ['team-a', 'Team-B'] }, /'\/watchNamespaces\/1': .*does not match pattern/],
  ['a namespace twice', { watchNamespaces: ['team-a', 'team-b', 'team-a'] }, /'\/watchNamespaces': items at 0 and 2 are equal/],
  ['a list of namespaces as text', { watchNamespaces: 'team-a,team-b' }, /'\/watchNamespaces': got string, want array/],
  [
    'a CIDR that blocks everything',
    { network: { extraBlockedCIDRs: ['0.0.0.0/0'] } },
    /'\/network\/extraBlockedCIDRs\/0'/,
  ],
  [
    'an ingress rule among the egress rules',
    { network: { extraEgress: [{ from: [] }] } },
    /additional properties 'from' not allowed/,
  ],
  ['a URL with another protocol', { nats: { enabled: false, external: { url: 'http://x' } } }, /'\/nats\/external\/url'/],
  [
    'an external server without its Secret',
    { nats: { enabled: false, external: { url: 'nats://nats.example.com:4222' } } },
    /'\/nats\/auth\/existingSecret'/,
  ],
];

describe('values.schema.json', () => {
  it.each(invalid)('rejects %s and says where', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('forbids additional properties in every object with named properties', async () => {
    const schema: unknown = JSON.parse(await readFile(join(chartFolder, 'values.schema.json'), 'utf8'));
    expect(findOpenObjects(schema, '')).toEqual([]);
  });
});

/** Returns paths of schemas that name properties but accept others. Ignores `allOf`, which only adds conditions. */
function findOpenObjects(schema: unknown, path: string): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const open = 'properties' in schema && !('additionalProperties' in schema && schema.additionalProperties === false);
  const inner = Object.entries(schema).filter(([key]) => key !== 'allOf');
  return [...(open ? [path] : []), ...inner.flatMap(([key, value]) => findOpenObjects(value, `${path}/${key}`))];
}
