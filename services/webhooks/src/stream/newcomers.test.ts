import { expect, it } from 'vitest';
import { Newcomers } from './newcomers.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const ids = (newcomers: Newcomers) => newcomers.list().map(({ id }) => id);

it('webhooks that were registered within two minutes are new until they are settled', () => {
  const newcomers = new Newcomers();
  expect(newcomers.add({ id: 'old', createdAt: '2026-01-01T00:08:00Z' }, NOW)).toBe(false);
  expect(newcomers.add({ id: 'young', createdAt: '2026-01-01T00:08:01Z' }, NOW)).toBe(true);
  expect(newcomers.list()).toEqual([{ id: 'young', createdMs: Date.parse('2026-01-01T00:08:01Z') }]);
  newcomers.settle(['young']);
  expect(ids(newcomers)).toEqual([]);
});

it('a replica that never leads forgets them as they grow old', () => {
  const newcomers = new Newcomers();
  newcomers.add({ id: 'first', createdAt: '2026-01-01T00:10:00Z' }, NOW);
  newcomers.add({ id: 'second', createdAt: '2026-01-01T00:11:30Z' }, NOW + 120_000);
  expect(ids(newcomers)).toEqual(['second']);
});

it('a webhook without a readable time is not new', () => {
  expect(new Newcomers().add({ id: 'x', createdAt: '' }, NOW)).toBe(false);
});
