// Sandboxes that start from a snapshot, as the sandbox-controller serves them.
import { annotations, hashPodTemplate, sandboxes, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxSpec } from '@sandlot/api-types';
import { PLACE } from './harness.ts';
import type { Harness } from './harness.ts';

/** The Sandbox that starts, and its copy. */
export const START = 'fork';
export const COPY = 'fork-start';

/** A Sandbox without a Pod that is to start from the snapshot `notebook-1`. */
export function addStart(h: Harness, spec: Partial<SandboxSpec> = {}, name = START): void {
  const podTemplate = { spec: { containers: [{ name: 'main', image: 'busybox' }] } };
  h.api.seed(sandboxes, {
    metadata: { namespace: PLACE, name },
    spec: { podTemplate, shutdownPolicy: 'Retain', restoreFrom: { snapshotName: 'notebook-1' }, ...spec },
  });
}

export interface CopyParts {
  readonly of?: string;
  readonly metadata?: SandboxSnapshot['metadata'];
  readonly spec?: Partial<SandboxSnapshot['spec']>;
  readonly savedTemplate?: string;
  /** Trace context of the operation that it belongs to. */
  readonly trace?: string;
}

/** The copy that the sandbox-controller makes for it. */
export function addCopy(h: Harness, parts: CopyParts = {}): void {
  const { of = 'notebook-1', metadata, spec, savedTemplate, trace } = parts;
  const sandbox = h.api.object(sandboxes, { namespace: PLACE, name: START });
  const digest = savedTemplate ?? (sandbox === undefined ? '' : hashPodTemplate(sandbox));
  h.api.seed(sandboxSnapshots, {
    metadata: {
      ...{ namespace: PLACE, name: COPY, ownerReferences: [h.owner(START)] },
      annotations: {
        [annotations.savedTemplate]: digest,
        ...(trace === undefined ? {} : { [annotations.traceContext]: trace }),
      },
      ...metadata,
    },
    spec: { sandboxName: START, whenSaved: 'StayPaused', copyOf: { snapshotName: of }, ...spec },
  });
}
