import { describe, expect, it } from 'vitest';
import { annotations, labels } from '../../catalogue/keys.ts';
import { fillMarkers, findCredentialProblem, formatVaultSecretName, listMarkedSecrets } from './credentials.ts';

describe('the markers of a text', () => {
  it('are those of E2B and of Sandlot, each name once and in lower case', () => {
    expect(listMarkedSecrets('${e2b.secrets.Key} ${sandlot.secrets.key}:${e2b.secrets.b-2}')).toEqual(['key', 'b-2']);
    expect(listMarkedSecrets('${e2b.secrets.} ${e2b.secrets.a b} $e2b.secrets.a ${secrets.a}')).toEqual([]);
  });

  it('are filled with values as they are, which are read for no markers of their own', () => {
    const values = new Map([
      ['a', '$& $1 ${e2b.secrets.b}'],
      ['b', 'never'],
    ]);
    expect(fillMarkers('x ${e2b.secrets.A} y', (name) => values.get(name))).toBe('x $& $1 ${e2b.secrets.b} y');
  });

  it('give no text while one of them has no value', () => {
    expect(fillMarkers('${e2b.secrets.a}${e2b.secrets.b}', (name) => (name === 'a' ? '1' : undefined))).toBeUndefined();
  });
});

it('the Secret of the vault differs by namespace and not by case', () => {
  expect(formatVaultSecretName('one', 'KEY')).toBe(formatVaultSecretName('one', 'key'));
  expect(formatVaultSecretName('one', 'key')).not.toBe(formatVaultSecretName('two', 'key'));
  expect(formatVaultSecretName('a', 'b')).toMatch(/^secret-[0-9a-f]{40}$/u);
});

describe('a Secret', () => {
  const marked = (hosts?: string) => ({
    labels: { [labels.egressCredential]: 'true' },
    ...(hosts === undefined ? {} : { annotations: { [annotations.egressHosts]: hosts } }),
  });
  it.each([
    ['without the label', { annotations: { [annotations.egressHosts]: 'api.example.com' } }, 'notMarked'],
    ['without a list of hosts', marked(), 'hostNotCovered'],
    ['that lists another host', marked('example.com'), 'hostNotCovered'],
    ['with a list that cannot be read', marked('api.example.com, https://x'), 'hostNotCovered'],
    ['that lists the host', marked('x.org, API.example.com'), undefined],
    ['that lists all names of a domain', marked('*.example.com'), undefined],
  ])('%s', (_what, metadata, expected) => {
    expect(findCredentialProblem(metadata, 'api.example.com')).toBe(expected);
  });

  it('that lists every name covers no host: its owner has to say where its values go', () => {
    expect(findCredentialProblem(marked('*'), 'api.example.com')).toBe('hostNotCovered');
  });
});
