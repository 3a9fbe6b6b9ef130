import { expect, it } from 'vitest';
import { z } from 'zod';
import { teamKey } from './schemas.ts';
import { buildTeamKey, deriveKeyUuid } from './team-key.ts';

const key = {
  id: '0123456789ab',
  hash: 'f'.repeat(64),
  namespace: 'team-a',
  team: 'team-a',
  role: 'tenant',
  description: '',
  limits: {},
  createdAt: '2026-01-01T00:00:00Z',
} as const;

it('the id of a key is a UUID, always the same one, and no other key’s', () => {
  expect(z.uuid().parse(deriveKeyUuid(key.id))).toBe(deriveKeyUuid(key.id));
  const ids = Array.from({ length: 1_000 }, (_, index) => deriveKeyUuid(String(index)));
  expect(new Set(ids).size).toBe(1_000);
});

it('a key is shown by its name, else by its own id, and never with its digest', () => {
  expect(teamKey.parse(buildTeamKey(key))).toMatchObject({ name: '0123456789ab', createdAt: '2026-01-01T00:00:00Z' });
  expect(buildTeamKey({ ...key, description: 'CI' }).name).toBe('CI');
  expect(JSON.stringify(buildTeamKey(key))).not.toContain('ffff');
});
