import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';

/** A kubeconfig that authenticates with a client certificate. It embeds all credentials, so the file can be moved. */
export interface KubeconfigRequest {
  path: string;
  server: string;
  pkiDir: string;
  /** The certificate's file name in `pkiDir`, without extension. */
  certificate: string;
}

/** Writes the kubeconfig so that only its owner can read it. */
export async function writeKubeconfig(request: KubeconfigRequest): Promise<void> {
  const embed = async (file: string) => (await readFile(join(request.pkiDir, file))).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'sandlot', cluster: { server: request.server, 'certificate-authority-data': await embed('ca.crt') } },
    ],
    users: [
      {
        name: request.certificate,
        user: {
          'client-certificate-data': await embed(`${request.certificate}.crt`),
          'client-key-data': await embed(`${request.certificate}.key`),
        },
      },
    ],
    contexts: [{ name: 'sandlot', context: { cluster: 'sandlot', user: request.certificate } }],
    'current-context': 'sandlot',
  };
  await writeFile(request.path, stringify(config), { mode: 0o600 });
}
