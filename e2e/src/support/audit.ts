import { readFile } from 'node:fs/promises';
import { inject } from 'vitest';
import { z } from 'zod';
import type { Team } from './team.ts';

const entry = z.object({
  verb: z.string(),
  user: z.object({ username: z.string() }),
  objectRef: z
    .object({
      resource: z.string(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      subresource: z.string().optional(),
    })
    .optional(),
  requestReceivedTimestamp: z.string(),
});

const WRITES = new Set(['create', 'update', 'patch', 'delete']);

export interface AuditedWrite {
  readonly namespace: string;
  /** Verb, resource and subresource. */
  readonly what: string;
}

/** Writes of the claim-controller in the teams' namespaces, in the order in which the API server received them. */
export async function claimControllerWrites(...teams: readonly Team[]): Promise<AuditedWrite[]> {
  const namespaces = teams.map(({ namespace }) => namespace);
  const lines = (await readFile(inject('auditLogPath'), 'utf8'))
    .split('\n')
    .filter((line) => namespaces.some((namespace) => line.includes(namespace)));
  return lines
    .map((line) => entry.parse(JSON.parse(line)))
    .filter(
      ({ user, verb, objectRef }) =>
        user.username.endsWith('claim-controller') && WRITES.has(verb) && objectRef?.resource !== 'events',
    )
    .sort((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1))
    .map(({ verb, objectRef }) => ({
      namespace: objectRef?.namespace ?? '',
      what: [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(' '),
    }));
}
