import { annotations, formatStoredHeadersName, formatVaultSecretName, labels } from '@sandlot/api-types';
import type { HeaderSource } from '@sandlot/api-types';
import type { Secret } from '@sandlot/kube';
import { silentLogger } from '@sandlot/std';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Credential, ValueProblem } from '../plan/plan.ts';
import { Values } from './values.ts';

const MARKED = {
  labels: { [labels.egressCredential]: 'true' },
  annotations: { [annotations.egressHosts]: 'api.example.com' },
};
const STORED = formatStoredHeadersName({ uid: 'u' });

let store: Map<string, Secret>;
let heard: (readonly [string, string | undefined])[];
let logged: string[];
let problems: (readonly [Credential, ValueProblem | undefined])[];
let values: Values;

beforeEach(() => {
  store = new Map();
  [heard, logged, problems] = [[], [], []];
  values = new Values({
    find: ({ place, namespace, name }) => store.get(`${place}/${namespace}/${name}`),
    onValue: (...each) => heard.push(each),
    onProblem: (...each) => problems.push(each),
    log: { ...silentLogger, warn: (fields, message) => logged.push(JSON.stringify([fields, message])) },
  });
});

const credential = (source: HeaderSource, ref = 'ref'): Credential => ({
  ref,
  namespace: 'n',
  claim: 'c',
  claimUid: 'u',
  host: 'api.example.com',
  header: 'Authorization',
  source,
});
const named = credential({ kind: 'secret', name: 'key', key: 'token', format: 'Bearer {}' });
const stored = credential({ kind: 'stored', key: 'h-a-0' });
const marked = credential({ kind: 'text', text: 'Bearer ${e2b.secrets.KEY}' });

/** Puts a Secret, or takes it away: undefined data. */
function put(place: 'namespace' | 'vault', name: string, { text, metadata = {} }: Put = {}): void {
  const namespace = place === 'vault' ? '' : 'n';
  const data = Object.entries(text ?? {}).map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const);
  if (text === undefined) store.delete(`${place}/${namespace}/${name}`);
  else store.set(`${place}/${namespace}/${name}`, { metadata, data: Object.fromEntries(data) });
  values.see({ place, namespace, name });
}

interface Put {
  readonly text?: Readonly<Record<string, string>>;
  readonly metadata?: Secret['metadata'];
}

const putKey = (token: string, metadata: Secret['metadata'] = MARKED, name = 'key'): void =>
  put('namespace', name, { text: { token }, metadata });
const putVault = (name: string, text: Readonly<Record<string, string>>): void => put('vault', name, { text });

describe('the value of a header', () => {
  it('follows the Secret that it comes from: created, rotated, no longer marked, deleted', () => {
    values.add('10.0.0.1', [named]);
    expect(heard).toEqual([]);
    putKey('one');
    putKey('two');
    putKey('two', { labels: MARKED.labels });
    putKey('three');
    put('namespace', 'key');
    expect(heard.map(([, value]) => value)).toEqual(['Bearer one', 'Bearer two', undefined, 'Bearer three', undefined]);
  });

  it('has the secrets of the vault of its own namespace alone', () => {
    values.add('10.0.0.1', [marked]);
    putVault(formatVaultSecretName('other', 'key'), { value: 'theirs' });
    expect(heard).toEqual([]);
    putVault(formatVaultSecretName('n', 'key'), { value: '$& ours' });
    expect(heard).toEqual([['ref', 'Bearer $& ours']]);
  });

  it('that the API stored may have markers, and changes with either', () => {
    values.add('10.0.0.1', [stored]);
    putVault(STORED, { 'h-a-0': 'x ${e2b.secrets.key}' });
    putVault(formatVaultSecretName('n', 'key'), { value: '1' });
    putVault(formatVaultSecretName('n', 'key'), { value: '2' });
    putVault(STORED, { 'h-a-0': 'plain' });
    putVault(formatVaultSecretName('n', 'key'), { value: '3' });
    expect(heard.map(([, value]) => value)).toEqual(['x 1', 'x 2', 'plain']);
  });

  it.each([
    ['a line feed', 'a\r\nX-Evil: b'],
    ['more than 8,192 characters', 'a'.repeat(8_193)],
    ['letters that are not ASCII', 'schlüssel'],
  ])('is missing while it has %s', (_what, text) => {
    values.add('10.0.0.1', [named]);
    putKey(text);
    expect(heard).toEqual([]);
    expect(logged.join()).not.toContain(text.slice(0, 8));
  });

  it('is not in the log, which says once why it is missing', () => {
    values.add('10.0.0.1', [named]);
    putKey('hush', { labels: MARKED.labels });
    putKey('hush2', { labels: MARKED.labels });
    expect(logged).toHaveLength(2);
    expect(logged.join()).toContain('does not list the host');
    expect(logged.join()).not.toContain('hush');
  });
});

describe('a header without a value', () => {
  const list = (): readonly (string | undefined)[] =>
    problems.map(([, found]) => found && `${found.problem}; ${found.remedy}`);

  it('is reported with what to do, until it has one', () => {
    values.add('10.0.0.1', [named]);
    putKey('one', {});
    putKey('one', { labels: MARKED.labels });
    put('namespace', 'key', { text: { other: 'one' }, metadata: MARKED });
    putKey('one');
    putKey('two');
    expect(list()).toEqual([
      'Secret "key" does not exist, or is not marked for egress; give it the key "token" and the label sandlot.dev/egress-credential: "true"',
      'Secret "key" is not marked for egress; give it the label sandlot.dev/egress-credential: "true"',
      'Secret "key", of which the rule uses the key "token", does not list the host; add api.example.com to its annotation sandlot.dev/egress-hosts',
      'Secret "key" has no key "token"; add it',
      undefined,
    ]);
  });

  it('is reported until no rule needs it, also where the vault lacks a secret', () => {
    values.add('10.0.0.1', [stored]);
    putVault(STORED, { 'h-a-0': '${e2b.secrets.key}' });
    values.keepOnly('10.0.0.1', []);
    expect(list()).toEqual([
      'the API has not stored its value; replace the network rules',
      'there is no secret key in the vault; create it with POST /secrets',
      undefined,
    ]);
  });
});

describe('a value', () => {
  it('stays while an address refers to it, and goes with the last', () => {
    putKey('one');
    for (const address of ['10.0.0.1', 'fd00::1']) values.add(address, [named]);
    values.keepOnly('10.0.0.1', []);
    expect([...values.list()]).toEqual([['ref', 'Bearer one']]);
    values.keepOnly('fd00::1', []);
    expect([...values.list()]).toEqual([]);
    expect(heard.at(-1)).toEqual(['ref', undefined]);
    putKey('two');
    expect(heard).toHaveLength(2);
  });

  it('changes when its rule names another Secret', () => {
    putKey('one');
    putKey('two', MARKED, 'next');
    values.add('10.0.0.1', [named]);
    values.keepOnly('10.0.0.1', [named]);
    const next = credential({ kind: 'secret', name: 'next', key: 'token', format: '{}' });
    values.add('10.0.0.1', [next]);
    values.keepOnly('10.0.0.1', [next]);
    putKey('three');
    expect(heard.map(([, value]) => value)).toEqual(['Bearer one', 'two']);
  });
});

describe('what the API stores for the rules of an address', () => {
  it('is awaited until it is seen, and a secret that it names is not', () => {
    const has = (): boolean => values.hasStored('10.0.0.1');
    expect(has()).toBe(true);
    values.add(
      '10.0.0.1',
      [stored, marked, named].map((each, at) => ({ ...each, ref: `ref ${at}` })),
    );
    expect(has()).toBe(false);
    putVault(STORED, { 'h-a-0': '${e2b.secrets.none}' });
    expect(has()).toBe(true);
    values.keepOnly('10.0.0.1', []);
    put('vault', STORED);
    expect(has()).toBe(true);
  });
});
