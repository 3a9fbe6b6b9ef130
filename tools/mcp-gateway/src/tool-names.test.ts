import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nameTools } from './tool-names.ts';
import type { ToolOf } from './tool-names.ts';

const list = (tools: readonly string[]): readonly ToolOf[] =>
  tools.map((text) => ({ server: text.split('/')[0] ?? '', tool: text.split('/')[1] ?? '' }));

describe('names of tools', () => {
  it.each([
    ['names stay that one server alone has', ['git/log', 'time/now'], ['log', 'now']],
    ['both get a prefix if two servers have the name', ['git/status', 'time/status'], ['git_status', 'time_status']],
    [
      'a name that looks like one with a prefix gives way',
      ['git/status', 'time/status', 'fetch/git_status'],
      ['git_status', 'time_status', 'fetch_git_status'],
    ],
  ])('%s', (_, tools, names) => {
    expect([...nameTools(list(tools)).keys()]).toEqual(names);
  });

  it('gives every tool one name, whatever the servers call theirs', () => {
    const part = fc.constantFrom('a', 'b', 'a_b', 'b_a', 'a_a_b');
    const tools = fc.uniqueArray(fc.record({ server: fc.constantFrom('a', 'b', 'c'), tool: part }), {
      selector: ({ server, tool }) => `${server}/${tool}`,
    });
    fc.assert(
      fc.property(tools, (given) => {
        expect(new Set(nameTools(given).values())).toEqual(new Set(given));
      }),
    );
  });
});
