import { describe, expect, it } from 'vitest';
import { find, podTemplates, render, template, withHibernation } from './chart.ts';
import type { PodTemplate, Rendered } from './chart.ts';
import { makeCredentials } from './credentials.ts';

const NODE = 'sandlot-node';
const BUCKET = { endpoint: 'https://s3.example.com', name: 'sandboxes', credentialsSecret: 's3-account' };

const withBucket = (bucket: object = {}, more: object = {}): object => ({
  ...withHibernation,
  hibernation: { enabled: true, bucket: { ...BUCKET, ...bucket }, ...more },
});

function getPod(objects: readonly Rendered[]): PodTemplate {
  const [, pod] = podTemplates(objects).find(([workload]) => workload === NODE) ?? [];
  if (pod === undefined) throw new Error('no node component');
  return pod;
}

const getFlags = (pod: PodTemplate): readonly string[] =>
  (pod.spec.containers[0] as unknown as { args: readonly string[] }).args.filter((arg) => /^-(s3|most-transfers)/.test(arg));

describe('the bucket of snapshots', () => {
  it('is absent by default: the node component gets no flag, file or way out for it', async () => {
    const objects = await render(withHibernation);
    expect(getFlags(getPod(objects))).toEqual([]);
    expect(JSON.stringify(objects.filter(({ kind }) => kind !== 'CustomResourceDefinition'))).not.toMatch(/-s3-|sandlot\/s3|bucket-keys/);
    expect(find(objects, 'NetworkPolicy', NODE).spec).not.toHaveProperty('egress');
  });

  it('gives the node component its flags', async () => {
    expect(getFlags(getPod(await render(withBucket({ prefix: 'cluster-a', pathStyle: false, mostTransfers: 4 }))))).toEqual([
      '-s3-endpoint=https://s3.example.com',
      '-s3-bucket=sandboxes',
      '-s3-region=us-east-1',
      '-s3-prefix=cluster-a',
      '-s3-path-style=false',
      '-s3-credentials=/etc/sandlot/s3',
      '-s3-keys=/etc/sandlot/s3-keys/keys',
      '-most-transfers=4',
    ]);
  });

  it('gives its account and its keys to the node component alone', async () => {
    const objects = await render(withBucket());
    const users = podTemplates(objects).filter(([, pod]) => /s3-account|bucket-keys/.test(JSON.stringify(pod)));
    // The key-keeper makes the keys. Its Pod has their name, and mounts nothing.
    expect(users.map(([name]) => name).toSorted()).toEqual(['sandlot-key-keeper', NODE]);
    const keeper = users.find(([name]) => name !== NODE)?.[1].spec;
    expect([keeper?.['volumes'], JSON.stringify(keeper).includes('s3-account')]).toEqual([undefined, false]);
    const { volumes } = getPod(objects).spec as unknown as { volumes: readonly { name: string }[] };
    expect(volumes.find(({ name }) => name === 's3')).toMatchObject({
      projected: {
        sources: [
          {
            secret: {
              name: 's3-account',
              items: [
                { key: 'accessKey', path: 'access-key-id' },
                { key: 'secretKey', path: 'secret-access-key' },
              ],
            },
          },
          { secret: { name: 's3-account', items: [{ key: 'sessionToken', path: 'session-token' }], optional: true } },
        ],
      },
    });
  });

  it('has a key of the key-keeper, or the keys of the operator', async () => {
    const made = await makeCredentials(await render(withBucket()));
    expect(made['sandlot-bucket-keys']?.['keys']).toMatch(/^k[0-9a-f]{8} [A-Za-z0-9+/]{43}=\n$/);
    const objects = await render(withBucket({ keysSecret: 'mine' }));
    expect(await makeCredentials(objects)).not.toHaveProperty('sandlot-bucket-keys');
    expect(JSON.stringify(getPod(objects).spec)).toContain('"secretName":"mine"');
  });

  it('may have a certificate of an authority of its own', async () => {
    const pod = JSON.stringify(getPod(await render(withBucket({ caSecret: 's3-authority' }))).spec);
    expect(pod).toContain('"secretName":"s3-authority"');
    expect(pod).toContain('{"name":"SSL_CERT_DIR","value":"/etc/sandlot/s3-ca"}');
  });

  const dns = { to: [{ namespaceSelector: {} }, { ipBlock: { cidr: '169.254.20.10/32' } }], ports: [{ port: 53, protocol: 'UDP' }, { port: 53, protocol: 'TCP' }] };
  const peer = { ipBlock: { cidr: '192.0.2.0/24' } };
  it.each([
    ['443 for https', {}, { ports: [{ port: 443, protocol: 'TCP' }] }],
    ['80 for http', { endpoint: 'http://s3.example.com' }, { ports: [{ port: 80, protocol: 'TCP' }] }],
    [
      'its own, to the peers of the values',
      { endpoint: 'https://s3.example.com:9000', egress: [peer] },
      { ports: [{ port: 9000, protocol: 'TCP' }], to: [peer] },
    ],
  ])('is reached at port %s, and nothing else but DNS is', async (_, bucket, rule) => {
    const { spec } = find(await render(withBucket(bucket)), 'NetworkPolicy', NODE) as unknown as { spec: { egress: unknown } };
    expect(spec.egress).toEqual([dns, rule]);
  });

  it.each([
    ['keeps snapshots of the default class', {}, 'Bucket'],
    ['does not, if the values say so', { store: 'Node' }, undefined],
  ])('%s', async (_, more, store) => {
    const { spec } = find(await render(withBucket({}, more)), 'SandboxSnapshotClass', 'node') as unknown as {
      spec: { store?: string };
    };
    expect(spec.store).toBe(store);
  });

  it.each<readonly [string, object, string]>([
    ['without a name', withBucket({ name: '' }), 'name the bucket'],
    ['without an account', withBucket({ credentialsSecret: '' }), 'hibernation.bucket.credentialsSecret'],
    ['that is no URL', withBucket({ endpoint: 's3.example.com' }), '/hibernation/bucket/endpoint'],
    ['with a prefix that leads elsewhere', withBucket({ prefix: '../other' }), '/hibernation/bucket/prefix'],
    ['that is absent, with the store Bucket', { ...withHibernation, hibernation: { enabled: true, store: 'Bucket' } }, 'needs hibernation.bucket.endpoint'],
  ])('is refused %s', async (_, values, message) => {
    const { code, stderr } = await template(values);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});
