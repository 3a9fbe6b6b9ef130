import { inject } from 'vitest';
import { listAuditEntries, sortByTime, isWrite } from './audit-log.ts';
import type { AuditEntry } from './audit-log.ts';
import type { Team } from './team.ts';

export interface AuditedWrite {
  readonly namespace: string;
  /** Verb, resource and subresource, separated by spaces. */
  readonly what: string;
}

/** The writes of the claim-controller in the namespaces of the teams, in the order in which the API server received them. */
export async function claimControllerWrites(...teams: readonly Team[]): Promise<AuditedWrite[]> {
  const namespaces = teams.map(({ namespace }) => namespace);
  const writes: AuditEntry[] = [];
  for await (const entry of listAuditEntries(inject('auditLogPath'), namespaces)) {
    const isOurs = entry.user.username.endsWith('claim-controller');
    if (isOurs && isWrite(entry) && entry.objectRef?.resource !== 'events') writes.push(entry);
  }
  return sortByTime(writes).map(({ verb, objectRef }) => ({
    namespace: objectRef?.namespace ?? '',
    what: [verb, objectRef?.resource, objectRef?.subresource].filter(Boolean).join(' '),
  }));
}
