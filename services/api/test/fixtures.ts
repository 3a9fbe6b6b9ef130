import type { ListedSandbox } from '../src/e2b/answer/schemas.ts';

/** A running sandbox as lists show it. */
export function listedSandboxFixture(sandboxID: string, fields: Partial<ListedSandbox> = {}): ListedSandbox {
  return {
    templateID: 'base',
    sandboxID,
    clientID: 'sandlot',
    startedAt: '2026-01-01T00:00:00.000Z',
    endAt: '2026-01-01T01:00:00.000Z',
    cpuCount: 1,
    memoryMB: 0,
    diskSizeMB: 0,
    state: 'running',
    envdVersion: '0.6.4',
    ...fields,
  };
}
