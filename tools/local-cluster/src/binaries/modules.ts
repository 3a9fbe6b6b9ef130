import { join } from 'node:path';
import { execOrThrow } from '../process/exec.ts';
import { goEnvironment } from './cache.ts';

/** Returns the folder of a Go module, given as `path@version`. Go downloads and verifies it once per machine. */
export async function findGoModule(module: string): Promise<string> {
  const go = { cwd: '/', env: goEnvironment, timeoutMs: 10 * 60_000 };
  const { stdout } = await execOrThrow(['go', 'mod', 'download', '-json', module], go);
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
}

/** The folder with the CRDs of the Gateway API, one file each. */
export async function findGatewayApiCrds(): Promise<string> {
  return join(await findGoModule('sigs.k8s.io/gateway-api@v1.3.0'), 'config/crd/standard');
}
