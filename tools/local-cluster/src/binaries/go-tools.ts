import { join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';

const root = join(import.meta.dirname, '../../../..');
const buildTimeoutMs = 40 * 60_000;

/**
 * Returns the path of versitygw, an S3 server on a folder, built if needed. Go keeps it in its own cache, where the Go tests of
 * the agent find it too.
 */
export function ensureS3Server(): Promise<string> {
  return ensureTool('node/s3server', 'versitygw');
}

/** Returns the path of the distribution registry in the same way. The Go tests of the image plane start it. */
export function ensureDistribution(): Promise<string> {
  return ensureTool('builder/registry', 'registry');
}

async function ensureTool(module: string, tool: string): Promise<string> {
  const { stdout } = await execOrThrow(['go', 'tool', '-n', tool], {
    cwd: join(root, module),
    env: { GOTOOLCHAIN: 'local' },
    timeoutMs: buildTimeoutMs,
  });
  return stdout.trim();
}
