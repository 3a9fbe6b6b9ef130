import { ensureBinaries } from '../binaries/ensure.ts';
import { ensureS3Server } from '../binaries/go-tools.ts';
import { ensurePackages } from '../packages.ts';
import { createConsoleProgress } from '../progress.ts';
import { useCompileCache } from './compile-cache.ts';

/**
 * Compiles and installs what the tests with real servers need. On a new machine this takes minutes, so it happens before
 * the tests and not inside one of them.
 */
export default async function prepare(): Promise<void> {
  const progress = createConsoleProgress();
  const programs = [
    'kube',
    'pki',
    'guard',
    'kwok',
    'kwok-stages',
    'volumes',
    'nats-server',
    'helm',
    'kubeconform',
    'jaeger',
    'loki',
    'promtail',
    'registry',
    'crane',
    'sandlot-image',
    'sandlot-volumes',
  ] as const;
  await ensureBinaries(programs, { progress });
  await ensureS3Server();
  await ensurePackages(['redis-server', 'prometheus', 'curl'], { progress });
  await useCompileCache();
}
