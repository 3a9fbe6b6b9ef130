import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { claim, pool, template } from '@sandlot/api-types/testing';
import { expect, it } from 'vitest';
import * as blueprint from './index.ts';

it('runs the example of the README', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const surroundings = {
    ...blueprint,
    claim: claim({ name: 'job' }),
    pool: pool({ name: 'fast' }),
    template: template(),
  };
  const made: unknown = runInNewContext(
    `${example}; [member.metadata.name, own.metadata.name, current, patch.spec]`,
    surroundings,
  );
  expect(made).toMatchObject(['fast-x7k2p', 'job', true, {}]);
});
