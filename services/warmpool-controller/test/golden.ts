// What the tests of golden snapshots see and do: the part of the snapshot-controller is theirs.
import { sandboxes, sandboxSnapshots, sandboxTemplates } from '@sandlot/api-types';
import type { Sandbox, SandboxSnapshot, SandboxSnapshotStatus, SandboxTemplateSpec } from '@sandlot/api-types';
import { template } from '@sandlot/api-types/testing';
import { events } from '@sandlot/kube';
import { PoolHarness } from './pool-harness.ts';

export const TEMPLATE = { namespace: 'default', name: 'template' };

/** A template that asks for a golden snapshot, on an API server whose Sandboxes become Ready at once unless `starts` is false. */
export async function startGolden(
  spec: Partial<SandboxTemplateSpec> = {},
  { starts = true, secured = true } = {},
): Promise<PoolHarness> {
  const harness = await PoolHarness.start({ withTemplate: false, secured });
  harness.api.seed(sandboxTemplates, template({ spec: { golden: {}, ...spec } }));
  if (starts) harness.makePodsReady();
  return harness;
}

/** Sandboxes that the template controls. */
export function listGoldenSandboxes(harness: PoolHarness): Sandbox[] {
  return harness.api
    .objects(sandboxes)
    .filter(({ metadata }) => metadata.ownerReferences?.[0]?.kind === 'SandboxTemplate');
}

export function listSnapshots(harness: PoolHarness): SandboxSnapshot[] {
  return harness.api.objects(sandboxSnapshots);
}

/** Waits for the only snapshot, and has it end like this. */
export async function endSnapshot(harness: PoolHarness, phase: 'Ready' | 'Failed', message = ''): Promise<string> {
  const name = await harness.eventually(() => {
    const [only, ...others] = listSnapshots(harness).filter(({ status }) => status === undefined);
    if (only === undefined || others.length > 0) throw new Error(`${others.length + 1} snapshots wait, or none`);
    return only.metadata.name ?? '';
  });
  setSnapshot(harness, name, buildSnapshotStatus(phase, message));
  return name;
}

export function setSnapshot(harness: PoolHarness, name: string, status: SandboxSnapshotStatus): void {
  harness.api.change(sandboxSnapshots, { namespace: 'default', name }, (snapshot) => {
    snapshot.status = status;
  });
}

export function buildSnapshotStatus(phase: 'Ready' | 'Failed', message = ''): SandboxSnapshotStatus {
  const status = phase === 'Ready' ? 'True' : 'False';
  const lastTransitionTime = '2026-01-01T12:00:00Z';
  return { phase, conditions: [{ type: 'Ready', status, reason: 'Test', message, lastTransitionTime }] };
}

/** `reason: message` of the Events about the template. */
export function listTemplateEvents(harness: PoolHarness): string[] {
  return harness.api
    .objects(events)
    .filter(({ regarding }) => regarding.kind === 'SandboxTemplate')
    .map(({ reason, note }) => `${reason}: ${note ?? ''}`);
}
