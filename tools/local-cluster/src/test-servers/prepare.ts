import { ensureBinaries } from '../binaries/ensure.ts';
import { ensurePackages } from '../packages.ts';
import { consoleProgress } from '../progress.ts';

/**
 * Before the tests that start servers: compiles and installs what they need. On a new machine that takes minutes, which
 * no single test should be charged with.
 */
export default async function prepare(): Promise<void> {
  const progress = consoleProgress();
  await ensureBinaries(['kube', 'pki', 'guard', 'kwok', 'kwok-stages', 'volumes', 'nats-server', 'helm', 'jaeger'], {
    progress,
  });
  await ensurePackages(['redis-server', 'prometheus'], { progress });
}
