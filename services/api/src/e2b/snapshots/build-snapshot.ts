import { annotations, getTemplateId, labels } from '@sandlot/api-types';
import type { SandboxSnapshot } from '@sandlot/api-types';
import type { ApiKey } from '@sandlot/tenancy';
import type { ClaimedSandbox } from '../../state/cluster-state.ts';
import type { SnapshotKind } from '../../state/snapshots.ts';
import type { SnapshotName } from './snapshot-name.ts';

export interface SnapshotInput {
  /** What is saved. */
  readonly source: ClaimedSandbox;
  readonly key: ApiKey;
  readonly kind: SnapshotKind;
  /** Name of the SandboxSnapshot, and of the SandboxTemplate that starts from it. */
  readonly id: string;
  readonly named: SnapshotName | undefined;
  /** How long it is kept after it was saved; undefined: as long as its class says. */
  readonly ttlSeconds: number | undefined;
  readonly nowMs: number;
  /** Text of the annotation that carries the trace context. */
  readonly trace: string | undefined;
}

/** The SandboxSnapshot of a request. Its controller makes the template from which sandboxes start. */
export function buildSnapshot(input: SnapshotInput): SandboxSnapshot {
  const { source, key, kind, id, ttlSeconds } = input;
  const { sandbox, claim } = source;
  const { snapshotClassName } = sandbox?.spec.suspensionStrategy?.hibernate ?? {};
  return {
    metadata: {
      namespace: key.namespace,
      name: id,
      labels: { [labels.e2bSnapshot]: kind, [labels.sandboxId]: claim.metadata.name ?? '' },
      annotations: buildAnnotations(input),
    },
    spec: {
      sandboxName: sandbox?.metadata.name ?? '',
      ...(snapshotClassName === undefined ? {} : { snapshotClassName }),
      whenSaved: 'Resume',
      templateName: id,
      ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
    },
  };
}

function buildAnnotations({ source, key, named, nowMs, trace }: SnapshotInput): Record<string, string> {
  return {
    [annotations.apiKeyId]: key.id,
    [annotations.createdAt]: new Date(nowMs).toISOString(),
    [annotations.forkedTemplate]: getTemplateId(source.claim),
    ...(named === undefined ? {} : { [annotations.snapshotName]: named.name, [annotations.snapshotTag]: named.tag }),
    ...(trace === undefined ? {} : { [annotations.traceContext]: trace }),
  };
}
