import { openCluster } from '@sandlot/local-cluster';
import { checkoutRoot, ensureUp, releaseNamespace, tearDown } from '@sandlot/up';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Administrator's kubeconfig of the cluster under test. */
    kubeconfigPath: string;
    /** Namespace of the chart's release. */
    releaseNamespace: string;
    /** The API server's audit log, one JSON object a line. */
    auditLogPath: string;
  }
}

/** Uses the cluster of `npm run up` when it is there; raises one, and takes it down afterwards, when it is not. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { kubeconfigPath, raised } = await ensureUp({ demo: false });
  const cluster = await openCluster({ root: checkoutRoot });
  if (cluster === undefined) throw new Error('the cluster that was just raised is not there');
  project.provide('kubeconfigPath', kubeconfigPath);
  project.provide('releaseNamespace', releaseNamespace);
  project.provide('auditLogPath', cluster.auditLogPath);
  return async () => {
    if (raised) await tearDown();
  };
}
