import { TokenKeys } from '@sandlot/tenancy';
import type { Sandbox, SandboxStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import { claimView } from '../../api-v1/views.ts';
import { buildAnswer, buildDetail } from './sandbox.ts';
import { sandboxAnswer, sandboxDetail } from './schemas.ts';

const LOST = { reason: 'RestoreFailed', message: 'the image is damaged', at: '2026-01-01T12:00:00Z' };
const options = {
  tokenKeys: new TokenKeys({ key: Buffer.alloc(32).toString('base64'), number: 1 }),
  envdVersion: '1.0.0',
  domain: undefined,
};

function claimed(status: SandboxStatus) {
  const metadata = { namespace: 'team', name: 'box', uid: 'u', creationTimestamp: '2026-01-01T11:00:00Z' };
  const sandbox: Sandbox = {
    apiVersion: 'agents.x-k8s.io/v1beta1',
    kind: 'Sandbox',
    metadata,
    spec: { podTemplate: { spec: { containers: [] } } },
    status,
  };
  const claim = {
    apiVersion: 'extensions.agents.x-k8s.io/v1beta1',
    kind: 'SandboxClaim',
    metadata,
    spec: { sandboxTemplateRef: { name: 'base' } },
    status: { sandbox: { name: 'box' }, readyReplicas: 1 },
  } as const;
  return { claim, sandbox };
}

describe('the answers about a sandbox', () => {
  it.each([
    ['that went on with its memory', { resumedFrom: 'Memory' }],
    ['that lost its memory', { resumedFrom: 'Files', lost: LOST }],
    ['that sleeps without its memory', { lost: LOST }],
    ['that has never slept', {}],
  ] as const)('say what became of one %s', (_, outcome) => {
    const known = claimed(outcome);
    const pick = ({ resumedFrom, lost }: SandboxStatus) => ({
      ...(resumedFrom === undefined ? {} : { resumedFrom }),
      ...(lost === undefined ? {} : { lost }),
    });
    expect(pick(sandboxAnswer.parse(buildAnswer(known, options)))).toEqual(outcome);
    expect(pick(sandboxDetail.parse(buildDetail(known, options)))).toEqual(outcome);
    expect(claimView(known).sandboxes.map(pick)).toEqual([outcome]);
  });
});
