import { labels, sandboxSnapshots } from '@sandlot/api-types';
import type { SandboxSnapshot, SandboxTemplate } from '@sandlot/api-types';
import { ownedBy } from '@sandlot/blueprint';
import { getApiVersion } from '@sandlot/kube';
import { nameHash } from '@sandlot/std';

/** The golden snapshot of a template. It has the name of the Sandbox that it is taken of, and the template controls it. */
export function buildGoldenSnapshot(template: SandboxTemplate, name: string): SandboxSnapshot {
  const { namespace, name: templateName = '' } = template.metadata;
  const { snapshotClassName } = template.spec.golden ?? {};
  return {
    apiVersion: getApiVersion(sandboxSnapshots),
    kind: sandboxSnapshots.kind,
    metadata: {
      name,
      namespace,
      labels: { [labels.golden]: nameHash(templateName) },
      ownerReferences: [{ ...ownedBy(template), blockOwnerDeletion: false }],
    },
    spec: {
      sandboxName: name,
      ...(snapshotClassName === undefined ? {} : { snapshotClassName }),
      whenSaved: 'Resume',
    },
  };
}
