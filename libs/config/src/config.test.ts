import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, Secret, loadConfig } from './index.ts';
import { ed25519PrivateKey, ed25519PublicKeys } from './index.ts';
import { durationMs, flag, integer, json, list, logLevel, port, ratio, secret, text, url } from './index.ts';

function buildProblems(schema: z.ZodObject, env: Record<string, string | undefined>): Record<string, string> {
  try {
    loadConfig(schema, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return Object.fromEntries(error.problems.map((p) => [p.variable, `expected ${p.expected}, got ${p.got}`]));
  }
  return {};
}

describe('values', () => {
  it.each([
    ['a port', port(), '8080', 8080],
    ['port 0, which the system replaces', port(), '0', 0],
    ['a whole number with blanks around it', integer(), ' 12 ', 12],
    ['a negative number', integer({ min: -5 }), '-5', -5],
    ['true', flag(), 'true', true],
    ['false', flag(), 'false', false],
    ['a duration', durationMs(), '1m30s', 90_000],
    ['JSON', json('a list of numbers', z.array(z.int())), ' [1, 2] ', [1, 2]],
    ['a list with blanks and gaps', list(), 'a, b,,c ', ['a', 'b', 'c']],
    ['a URL', url(['nats', 'tls']), 'nats://nats:4222', 'nats://nats:4222'],
    ['a ratio', ratio(), '0.25', 0.25],
    ['a level', logLevel(), 'warn', 'warn'],
    ['text', text(), 'team-a', 'team-a'],
  ])('reads %s', (...[, schema, given, value]) => {
    expect(loadConfig(z.object({ V: schema }), { V: given })).toEqual({ V: value });
  });

  it.each([
    ['a port that is too high', port(), '65536', 'expected a whole number from 0 to 65535, got "65536"'],
    ['a port with letters', port(), '80a', 'expected a whole number from 0 to 65535, got "80a"'],
    ['a fraction', integer(), '1.5', 'expected a whole number, got "1.5"'],
    ['a number below the limit', integer({ min: 1 }), '0', 'expected a whole number of at least 1, got "0"'],
    ['a number above the limit', integer({ max: 9 }), '10', 'expected a whole number of at most 9, got "10"'],
    ['yes as a boolean', flag(), 'yes', 'expected true or false, got "yes"'],
    [
      'a property of every JavaScript object as a boolean',
      flag(),
      'toString',
      'expected true or false, got "toString"',
    ],
    [
      'text for JSON',
      json('JSON', z.array(z.int())),
      '[1',
      'expected JSON (Invalid input: expected array, received undefined), got "[1"',
    ],
    [
      'JSON of another shape',
      json('a list of numbers', z.array(z.int())),
      '[1,"b"]',
      'expected a list of numbers (1: Invalid input: expected number, received string), got "[1,\\"b\\"]"',
    ],
    ['a number without a unit', durationMs(), '15', 'expected a duration such as 500ms, 15s or 1h30m, got "15"'],
    ['another scheme', url(['nats']), 'http://x', 'expected a URL starting with nats://, got "http://x"'],
    ['no URL at all', url(['nats', 'tls']), 'x', 'expected a URL starting with nats:// or tls://, got "x"'],
    ['a ratio above one', ratio(), '1.01', 'expected a number from 0 to 1, got "1.01"'],
    ['an unknown level', logLevel(), 'loud', 'expected one of debug, info, warn, error, got "loud"'],
    ['only blanks as text', text(), '  ', 'expected some text, got "  "'],
  ])('refuses %s', (...[, schema, given, problem]) => {
    expect(buildProblems(z.object({ V: schema }), { V: given })).toEqual({ V: problem });
  });
});

describe('loadConfig', () => {
  const schema = z.object({
    PROBE_PORT: port().default(8081),
    NATS_URL: url(['nats']).optional(),
    NATS_PASSWORD: secret().optional(),
    WORKERS: integer({ min: 1 }),
  });

  it('fills in defaults and treats an empty variable as not set', () => {
    const config = loadConfig(schema, { PROBE_PORT: '', NATS_URL: '', WORKERS: '4', UNRELATED: 'x' });
    expect(config).toEqual({ PROBE_PORT: 8081, WORKERS: 4 });
  });

  it('names every wrong and every missing variable at once', () => {
    const error = (() => {
      try {
        return loadConfig(schema, { PROBE_PORT: 'http', NATS_URL: 'nats' });
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toBe(
      [
        'ConfigError: The environment is not valid:',
        '  PROBE_PORT: expected a whole number from 0 to 65535, got "http"',
        '  NATS_URL: expected a URL starting with nats://, got "nats"',
        '  WORKERS: expected a whole number of at least 1, got nothing',
      ].join('\n'),
    );
  });

  it('reports two problems of one variable once', () => {
    const strict = z.object({ V: z.string().min(5).startsWith('x') });
    expect(Object.keys(buildProblems(strict, { V: 'abc' }))).toEqual(['V']);
  });

  it.each(['DB_PASSWORD', 'API_TOKEN', 'SECRET', 'TLS_PRIVATE_KEY', 'KEY_SEED'])(
    'never prints the value of %s',
    (name) => {
      expect(buildProblems(z.object({ [name]: z.string().max(3) }), { [name]: 'hunter2' })[name]).toContain(
        'got a value that is not shown',
      );
    },
  );

  it('leaves the credentials of a URL out of the message', () => {
    expect(buildProblems(z.object({ U: url(['nats']) }), { U: 'redis://user:hunter2@host:1' })).toEqual({
      U: 'expected a URL starting with nats://, got "redis://[secret]@host:1"',
    });
  });

  it('cuts long values', () => {
    expect(buildProblems(z.object({ V: flag() }), { V: 'x'.repeat(500) })['V']).toBe(
      `expected true or false, got "${'x'.repeat(80)}"...`,
    );
  });
});

describe('Secret', () => {
  const password = loadConfig(z.object({ P: secret() }), { P: 'hunter2' }).P;

  it.each([
    ['a string', String(password)],
    ['concatenation', ''.concat(password.toString())],
    ['JSON', JSON.stringify({ password })],
    ['inspection', inspect({ password })],
    ['an error', inspect(new Error('x', { cause: password }))],
  ])('does not show in %s', (_where, shown) => {
    expect(shown).toContain('[secret]');
    expect(shown).not.toContain('hunter2');
  });

  it('returns its value to a caller that asks for it', () => {
    expect(password).toBeInstanceOf(Secret);
    expect(password.reveal()).toBe('hunter2');
  });
});

describe('keys', () => {
  const [first, second] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
  const other = generateKeyPairSync('x25519');
  const [firstPem = '', secondPem = '', otherPem = ''] = [first, second, other].map(({ publicKey }) =>
    publicKey.export({ format: 'pem', type: 'spki' }).toString(),
  );
  const exportRaw = ({ publicKey }: typeof first): string =>
    Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64');

  it('are read as the 32 bytes of each public key, in their order', () => {
    const read = loadConfig(z.object({ V: ed25519PublicKeys() }), { V: `${firstPem}\n${secondPem}` });
    expect(read).toEqual({ V: [exportRaw(first), exportRaw(second)] });
  });

  it.each([
    ['nothing but text', 'nonsense'],
    ['a key of another kind', otherPem],
    ['a key of another kind behind a good one', firstPem + otherPem],
  ])('are refused when there is %s', (_, given) => {
    const wrong = buildProblems(z.object({ V: ed25519PublicKeys() }), { V: given });
    expect(wrong['V']).toMatch(/^expected Ed25519 public keys or certificates in PEM/);
  });

  it('that are private are never printed, whether right or wrong', () => {
    const pem = first.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const schema = z.object({ GATEWAY_SIGNING_KEY: ed25519PrivateKey() });
    const read = loadConfig(schema, { GATEWAY_SIGNING_KEY: pem });
    expect(read.GATEWAY_SIGNING_KEY.asymmetricKeyType).toBe('ed25519');
    const broken = pem.replace('BEGIN PRIVATE KEY', 'BEGIN');
    expect(buildProblems(schema, { GATEWAY_SIGNING_KEY: broken })).toEqual({
      GATEWAY_SIGNING_KEY: 'expected an Ed25519 private key in PEM, got a value that is not shown',
    });
  });
});
