import { join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';

const module = join(import.meta.dirname, '../../../../node/s3server');
const buildTimeoutMs = 40 * 60_000;

/**
 * Returns the path of versitygw, an S3 server on a folder, built if needed. Go keeps it in its own cache, where the Go tests of
 * the agent find it too.
 */
export async function ensureS3Server(): Promise<string> {
  const { stdout } = await execOrThrow(['go', 'tool', '-n', 'versitygw'], {
    cwd: module,
    env: { GOTOOLCHAIN: 'local' },
    timeoutMs: buildTimeoutMs,
  });
  return stdout.trim();
}
