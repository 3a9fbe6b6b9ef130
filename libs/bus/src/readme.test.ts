import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { formatEventId } from './index.ts';
import { memoryBus } from '../test/index.ts';

it('runs the example of the README over a memory bus', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const bus = memoryBus();
  const keys: string[] = [];
  const surroundings = {
    connectBus: async () => bus,
    formatEventId,
    claim: { uid: 'u-1', generation: 2 },
    sandbox: { name: 's', uid: 'u-2' },
    boundAtMs: 0,
    queue: { add: (key: string) => keys.push(key) },
    ...{ user: 'claim-controller', password: 'secret', log: {} },
  };
  await runInNewContext(`(async () => {${example}})()`, surroundings);
  await bus.flush();
  expect(bus.published.map((event) => event.id)).toEqual(['u-1/claim.bound/2']);
  expect(keys).toEqual(['team-a/python']);
});
