import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { chartFolder, find, render, templateAnew, valueSets } from './chart.ts';
import { readWanted } from './credentials.ts';

/** Functions of templates whose result differs from one rendering to the next. */
const RANDOM = /\b(gen(?:PrivateKey|CA|CAWithKey|SignedCert|SignedCertWithKey|SelfSignedCert|SelfSignedCertWithKey)|rand(?:AlphaNum|Alpha|Numeric|Ascii|Bytes|Int)|uuidv4|derivePassword|htpasswd|bcrypt|shuffle|now|ago)\b/;

describe('a rendering', () => {
  it('has nothing random and no time in it', async () => {
    const entries = await readdir(join(chartFolder, 'templates'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const actions = await Promise.all(
      files.map(async (file) => [...(await readFile(file, 'utf8')).matchAll(/\{\{-?(?!\s*\/\*)(.*?)-?\}\}/gs)].map(([, action = '']) => `${file}: ${action}`)),
    );
    expect(actions.flat().length).toBeGreaterThan(500);
    // Texts are no calls, and `.now` is a field.
    expect(actions.flat().filter((action) => RANDOM.test(action.replaceAll(/"[^"]*"|\.now\b/g, '')))).toEqual([]);
  });

  it.each(Object.entries(valueSets))('with %s values is the same each time, and has no Secret', async (_, values) => {
    const [first, second] = await Promise.all([templateAnew(values), templateAnew(values)]);
    expect(first.code, first.stderr).toBe(0);
    expect(second.stdout).toBe(first.stdout);
    expect(first.stdout).not.toMatch(/^kind: Secret$/m);
  });
});

describe('every credential', () => {
  const bucket = { endpoint: 'https://s3.example.com', name: 'sandboxes', credentialsSecret: 's3-account' };
  const all = { runtime: { delivery: 'ImageVolume' }, hibernation: { enabled: true, bucket } };
  const own = {
    runtime: { delivery: 'ImageVolume', existingSecret: 'own-runtime' },
    gateway: { existingSecret: 'own-gateway' },
    nats: { auth: { existingSecret: 'own-nats' }, tls: { secret: 'own-nats-tls' } },
    redis: { auth: { existingSecret: 'own-redis' }, tls: { existingSecret: 'own-redis-tls' } },
    hibernation: {
      enabled: true,
      bucket: { ...bucket, keysSecret: 'own-keys' },
      tls: { nodeSecret: 'own-node-tls', controllerSecret: 'own-saver-tls' },
    },
  };

  it('is made by the key-keeper, unless a value names a Secret with it', async () => {
    const list = async (values: object): Promise<readonly (readonly [string, boolean])[]> => {
      const { secrets, authorities } = readWanted(await render(values));
      return [...secrets, ...authorities.flatMap(({ certificates }) => certificates)].map(({ name, given }) => [name, given]);
    };
    const made = await list(all);
    expect(made.filter(([, given]) => given)).toEqual([]);
    const given = await list(own);
    expect(given).toHaveLength(made.length);
    expect(given.filter(([name, isGiven]) => !isGiven || !name.startsWith('own-'))).toEqual([]);
  });

  it('can be read by the key-keeper, and written if it makes it: no Secret besides', async () => {
    const rules = async (values: object): Promise<object> => find(await render(values), 'Role', 'sandlot-key-keeper').rules ?? [];
    const names = ['sandlot-gateway-key', 'sandlot-nats-auth', 'sandlot-nats-tls', 'sandlot-redis-auth', 'sandlot-redis-tls', 'sandlot-runtime'];
    const secrets = { apiGroups: [''], resources: ['secrets'] };
    expect(await rules({})).toEqual([
      { ...secrets, resourceNames: names, verbs: ['get'] },
      { ...secrets, verbs: ['create'] },
      { ...secrets, resourceNames: names, verbs: ['patch'] },
    ]);
    expect(await rules(own)).toEqual([{ ...secrets, resourceNames: expect.any(Array) as string[], verbs: ['get'] }]);
  });

  it('comes from the operator where there is no key-keeper', async () => {
    const objects = await render({ keyKeeper: { enabled: false } });
    expect(objects.filter(({ metadata }) => metadata.name.includes('key-keeper'))).toEqual([]);
  });
});
