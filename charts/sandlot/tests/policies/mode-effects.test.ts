import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { object } from './objects.ts';
import type { Answer } from './requests.ts';
import { startStage, users } from './stage.ts';
import type { Draft, Stage } from './stage.ts';

const POD = { containers: [{ name: 'main', image: 'busybox' }] };
const honest = object('Sandbox', { name: 'honest' });
const breaking = (name: string): Draft => object('Sandbox', { name }, { podTemplate: { spec: { ...POD, hostPID: true } } });
/** The API server takes a second or two to put policies into force. */
const SOON = { timeout: 30_000, interval: 100 };

/** What the audit log notes about the write of a Sandbox. */
async function readNote({ plane }: Stage, name: string): Promise<string> {
  const log = await readFile(plane.auditLogPath ?? '', 'utf8');
  const found = log.split('\n').filter((line) => line.includes('"verb":"create"') && line.includes(`"name":"${name}"`));
  return found.filter((line) => line.includes('validation.policy.admission.k8s.io/validation_failure')).join('\n');
}

describe.each([
  ['enforce', 403, false],
  ['warn', 201, true],
  ['audit', 201, false],
] as const)('with policies.mode %s a write that breaks a rule', (mode, status, warns) => {
  let stage: Stage;
  let answer: Answer;
  let name: string;
  beforeAll(async () => {
    stage = await startStage({ 'team-a': {} }, { policies: { mode } });
    let tries = 0;
    await vi.waitFor(async () => {
      name = `breaking-${(tries += 1)}`;
      answer = await stage.tryCreate(breaking(name), users.tenant);
      expect(await readNote(stage, name)).not.toBe('');
    }, SOON);
  });
  afterAll(() => stage.stop());

  it(`gets the status ${status}, and ${warns ? 'a' : 'no'} warning`, () => {
    expect(answer.status).toBe(status);
    expect(answer.warnings.includes('(rule host of docs/security/admission-policies.md)')).toBe(warns);
  });

  it('is noted in the audit log with the rule, and an honest write is not', async () => {
    expect(await readNote(stage, name)).toContain('rule host of docs/security/admission-policies.md');
    expect(await stage.tryCreate(honest, users.tenant)).toMatchObject({ status: 201, warnings: '' });
    await vi.waitFor(async () => {
      expect(await readFile(stage.plane.auditLogPath ?? '', 'utf8')).toContain('"name":"honest"');
    }, SOON);
    expect(await readNote(stage, 'honest')).toBe('');
  });
});
