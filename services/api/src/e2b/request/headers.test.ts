import { describe, expect, it } from 'vitest';
import { parseHeaders } from '../../http/parse.ts';
import { createHeaders, pauseHeaders, snapshotHeaders } from './headers.ts';

const RETENTION = 'x-e2b-kruise-reserve-paused-sandbox-duration';

/** Like a request, whose header names ignore the case. */
function get(headers: Readonly<Record<string, string>>) {
  return (name: string): string | undefined => headers[name.toLowerCase()];
}

describe('the headers of a create', () => {
  it('are read by the name in the schema, whatever its case', () => {
    expect(parseHeaders(createHeaders, get({ 'idempotency-key': 'order-1' }))).toEqual({
      'Idempotency-Key': 'order-1',
    });
  });

  it('may be absent', () => {
    expect(parseHeaders(createHeaders, get({}))).toEqual({});
  });

  it.each(['', 'Order_1', 'a'.repeat(256)])('reject the Idempotency-Key %j', (key) => {
    expect(() => parseHeaders(createHeaders, get({ 'idempotency-key': key }))).toThrow(
      'Idempotency-Key: expected 1 to 255 of a-z, 0-9 and -',
    );
  });
});

describe('the headers of a pause', () => {
  it.each([
    ['forever', 'forever'],
    ['never', 'never'],
    ['30m', '30m'],
    ['90', '90s'],
  ])('read the retention %s as %s', (text, retention) => {
    expect(parseHeaders(pauseHeaders, get({ [RETENTION]: text }))).toEqual({ [RETENTION]: retention });
  });

  it('reject another retention with the text of OpenKruise’s control key', () => {
    expect(() => parseHeaders(pauseHeaders, get({ [RETENTION]: 'soon' }))).toThrow(
      `${RETENTION}: expected forever or a duration such as 30m, got "soon"`,
    );
  });
});

describe('the headers of a snapshot', () => {
  const PREFIX = 'x-e2b-kruise-snapshot-';

  it.each<[string, string, unknown]>([
    ['keep-running', 'true', true],
    ['ttl', '24h', 86_400],
    ['ttl', '90', 90],
    ['ttl', '1h0.5s', 3_601],
    ['ttl', '8760h', 31_536_000],
    ['persistent-contents', 'memory,filesystem', true],
    ['persistent-contents', 'filesystem, memory', true],
    ['wait-success-seconds', '1', 1],
    ['wait-success-seconds', '300', 300],
  ])('read %s=%s as %j', (name, text, value) => {
    expect(parseHeaders(snapshotHeaders, get({ [PREFIX + name]: text }))).toEqual({ [PREFIX + name]: value });
  });

  it('may be absent', () => {
    expect(parseHeaders(snapshotHeaders, get({}))).toEqual({});
  });

  it.each<[string, string, string]>([
    ['keep-running', 'false', 'expected true, as a sandbox goes on after a snapshot'],
    ['keep-running', 'yes', 'expected true'],
    ['keep-running', '', 'expected true'],
    ...['forever', 'never', '7d', '0', '0s', '-1s', '8761h', '', 'soon', '1h 2m'].map(
      (text): [string, string, string] => ['ttl', text, 'expected a duration from 1s to 31536000s such as 24h'],
    ),
    ...['memory', 'filesystem', 'memory,disk', 'memory,filesystem,', 'none', '', 'Memory,Filesystem'].map(
      (text): [string, string, string] => ['persistent-contents', text, 'expected memory,filesystem'],
    ),
    ...['0', '301', '-1', '1.5', '10s', '', '1e2', '0x10', '9'.repeat(400)].map((text): [string, string, string] => [
      'wait-success-seconds',
      text,
      'expected whole seconds from 1 to 300',
    ]),
  ])('refuse %s=%j, and the message names the header', (name, text, problem) => {
    const parse = (): unknown => parseHeaders(snapshotHeaders, get({ [PREFIX + name]: text }));
    expect(parse).toThrow(`${PREFIX}${name}: ${problem}`);
    expect(parse).toThrow(`, got "${text}"`);
  });
});
