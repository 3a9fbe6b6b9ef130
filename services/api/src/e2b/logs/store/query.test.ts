import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildQuery } from './query.ts';
import type { StoredPart, StoreSettings } from './query.ts';

const settings: StoreSettings = {
  url: 'http://loki',
  tenant: undefined,
  authorization: undefined,
  namespaceLabel: 'namespace',
  podLabel: 'pod',
  selector: {},
};
const part: StoredPart = {
  namespace: 'team-a',
  pod: 'box-1',
  fromMs: 1_000,
  untilMs: 2_000,
  direction: 'forward',
  limit: 10,
  search: '',
  level: 'debug',
};
const build = (more: Partial<StoredPart>, other: Partial<StoreSettings> = {}): string =>
  buildQuery({ ...settings, ...other }, { ...part, ...more }).get('query') ?? '';

describe('a query of the log store', () => {
  it('is for one Pod in one namespace, from a time on and before another one', () => {
    expect(Object.fromEntries(buildQuery(settings, part))).toEqual({
      query: '{namespace="team-a",pod="box-1"}',
      start: '1000000000',
      end: '2000000000',
      limit: '10',
      direction: 'forward',
    });
  });

  it('has the labels of the operator, which never stand for the namespace or the Pod', () => {
    const selector = { cluster: 'one', namespace: 'team-b', pod: '' };
    expect(build({}, { selector })).toBe('{cluster="one",namespace="team-a",pod="box-1"}');
  });

  it('reads whatever a client searches for as a text: as LogQL unquotes it, it is the text itself', () => {
    expect(build({ search: '"} or {namespace="team-b"} |= "' })).toBe(
      String.raw`{namespace="team-a",pod="box-1"} |= "\"} or {namespace=\"team-b\"} |= \""`,
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (search) => {
        const [, quoted = ''] =
          /^\{namespace="team-a",pod="box-1"\} \|= ("(?:[^"\\\n]|\\["\\bfnrt]|\\u[0-9a-f]{4})*")$/s.exec(
            build({ search }),
          ) ?? [];
        expect(JSON.parse(quoted)).toBe(search.toWellFormed());
      }),
    );
  });
});
