import { ensureUp, tearDown } from '@sandlot/up';
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
  const up = await ensureUp({ demo: false });
  project.provide('kubeconfigPath', up.kubeconfigPath);
  project.provide('releaseNamespace', up.namespace);
  project.provide('auditLogPath', up.auditLogPath);
  return async () => {
    if (up.raised) await tearDown();
  };
}
