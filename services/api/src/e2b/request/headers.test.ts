import { describe, expect, it } from 'vitest';
import { parseHeaders } from '../../http/parse.ts';
import { createHeaders, pauseHeaders } from './headers.ts';

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
