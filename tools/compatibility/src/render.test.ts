import { expect, it } from 'vitest';
import type { Page } from './model.ts';
import { renderPage, renderTotals } from './render.ts';

const versions = { agentSandbox: 'dogs 1', pythonClient: 'cats 2', e2b: 'birds 3' };
const page: Page = {
  file: 'pets.md',
  title: 'Pets',
  about: 'All of them.',
  sources: ['agentSandbox', 'pythonClient'],
  tables: [
    {
      title: 'Cats',
      what: 'cat',
      items: [
        ['tom', 'yes', ['cats/tom.test.ts', 'hunts a | b']],
        ['kit', 'partly', ['cats/kit.test.ts', 'hunts'], 'small ones'],
        ['leo', 'no', 'no room'],
        ['ada', 'no', 'no room'],
        ['bob', 'no', 'no test shows it', 'untested'],
      ],
    },
  ],
};

it('a page begins with what is missing, and has a row with the test for each item', () => {
  const text = renderPage(page, versions);
  expect(text).toContain('Of 5 items: 1 there, 1 there with a difference, 2 missing, and 1 shown by no test yet.');
  expect(text).toContain('Checked against dogs 1 and cats 2. All of them.');
  expect(text).toContain('## What is missing\n\n- **Cats**: `leo`, `ada`: no room\n\n## What no test shows yet');
  expect(text).toContain('| `tom` | yes |  | ["hunts a \\| b"](../../../cats/tom.test.ts) |');
  expect(text).toContain('| `bob` | no | no test shows it |  |');
});

it('a page on which nothing is missing has no such section', () => {
  const [cats] = page.tables;
  const tables = cats === undefined ? [] : [{ ...cats, items: cats.items.slice(0, 2) }];
  expect(renderPage({ ...page, tables }, versions)).not.toContain('## What');
});

it('the totals count each state, and untested items apart from missing ones', () => {
  expect(
    renderTotals([page, { ...page, sources: [] }], versions)
      .split('\n')
      .slice(2),
  ).toEqual([
    '| [Pets](compatibility/pets.md) | dogs 1 and cats 2 | 1 | 1 | 0 | 2 | 1 |',
    '| [Pets](compatibility/pets.md) | its types, by hand | 1 | 1 | 0 | 2 | 1 |',
    '| all |  | 2 | 2 | 0 | 4 | 2 |',
  ]);
});
