import { FakeClock } from '@sandlot/std/testing';
import { expect, it } from 'vitest';
import { Watched } from './watched.ts';

function start() {
  const clock = new FakeClock();
  const closing = new AbortController();
  const sampled: string[] = [];
  const watched = new Watched({
    clock,
    closing: closing.signal,
    sample: async ({ namespace, name }) => void sampled.push(`${namespace}/${name}`),
  });
  const takeSampled = (): readonly string[] => sampled.splice(0);
  return { clock, closing, watched, takeSampled };
}

it('a sandbox is sampled every five seconds until two minutes after the last question', async () => {
  const { clock, watched, takeSampled } = start();
  watched.want({ namespace: 'a', name: 'one' });
  await clock.advance(4_000);
  expect(takeSampled()).toEqual([]);
  await clock.advance(6_000);
  expect(takeSampled()).toEqual(['a/one', 'a/one']);
  await clock.advance(60_000);
  takeSampled();
  watched.want({ namespace: 'a', name: 'one' });
  await clock.advance(115_000);
  expect(takeSampled()).toHaveLength(23);
  await clock.advance(60_000);
  expect(takeSampled()).toHaveLength(0);
  expect(watched.size).toBe(0);
  watched.want({ namespace: 'a', name: 'one' });
  await clock.advance(5_000);
  expect(takeSampled()).toEqual(['a/one']);
});

it('a team that asks for many sandboxes has those sampled that it asked for last, and displaces none of another team', async () => {
  const { clock, watched, takeSampled } = start();
  watched.want({ namespace: 'b', name: 'one' });
  for (let index = 0; index < 200; index += 1) watched.want({ namespace: 'a', name: `s${index}` });
  await clock.advance(5_000);
  const sampled = takeSampled();
  expect(sampled).toHaveLength(61);
  expect(sampled).toContain('b/one');
  expect(sampled).toContain('a/s199');
  expect(sampled).not.toContain('a/s139');
});

it('nothing is sampled once the process shuts down', async () => {
  const { clock, closing, watched, takeSampled } = start();
  watched.want({ namespace: 'a', name: 'one' });
  closing.abort();
  await clock.advance(60_000);
  expect(takeSampled()).toEqual([]);
});
