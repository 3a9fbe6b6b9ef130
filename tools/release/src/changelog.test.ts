import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { describe, expect, test } from 'vitest';
import { getNotes, parseChangelog } from './changelog.ts';

const CHANGELOG =
  '# Changelog\n\nAbout it.\n\n## Unreleased\n\n- Next.\n\n## 0.2.0 - 2026-02-01\n\n- New.\n\n## [0.1.0]\n';

describe('parseChangelog', () => {
  test('reads each version with its date and text', () => {
    expect(parseChangelog(CHANGELOG)).toEqual([
      { version: 'Unreleased', date: undefined, text: '- Next.' },
      { version: '0.2.0', date: '2026-02-01', text: '- New.' },
      { version: '0.1.0', date: undefined, text: '' },
    ]);
  });

  test('refuses a heading that names no version', () => {
    expect(() => parseChangelog('## Fixes\n')).toThrow('"## Fixes" must be "## Unreleased" or');
  });

  test('reads the changelog of this repository', async () => {
    const [first] = parseChangelog(await readFile(join(checkoutRoot, 'CHANGELOG.md'), 'utf8'));
    expect(first?.version).toBe('Unreleased');
  });
});

describe('getNotes', () => {
  test('returns the text of a release', () => {
    expect(getNotes(CHANGELOG, '0.2.0')).toBe('- New.');
  });

  test.each([
    ['that is missing', '0.3.0', 'has no section "## 0.3.0 - <date>"'],
    ['without a date', '0.1.0', 'the section of 0.1.0 has no date'],
    ['that is empty', '0.0.1', 'the section of 0.0.1 is empty'],
  ])('refuses a section %s', (_, version, message) => {
    expect(() => getNotes(`${CHANGELOG}## 0.0.1 - 2026-01-01\n`, version)).toThrow(message);
  });
});
