import { sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { secrets } from '@sandlot/kube';
import { deriveEnvdAccessToken, formatTokenSubject, TokenKeys } from '@sandlot/tenancy';
import { inject } from 'vitest';
import { z } from 'zod';
import { getSandboxName } from './sandboxes.ts';
import type { Team } from './team.ts';

const PORTS = { envd: 49_983, exec: 8_888 } as const;

const resultSchema = z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.number() });

/** A client of the daemon in the Sandbox of a claim. It uses the pod's address, which this machine reaches as the node. */
export interface Daemon {
  /** The status of a request for the environment with this token. */
  statusOf(token: string): Promise<number>;
  /** The environment, read with the claim's own token. */
  envs(): Promise<unknown>;
  /** What a shell command prints, by the API without tokens. Rejects when it fails. */
  prints(command: string): Promise<string>;
}

export async function readDaemon(team: Team, claim: SandboxClaim): Promise<Daemon> {
  const { namespace } = team;
  const { status } = await team.client.get(sandboxes, { namespace, name: getSandboxName(claim) });
  const host = status?.podIPs?.[0] ?? 'nowhere';
  const token = await readToken(team, claim);
  const envs = (given: string): Promise<Response> =>
    fetch(`http://${host}:${PORTS.envd}/envs`, { headers: { 'x-access-token': given } });
  return {
    statusOf: async (given) => (await envs(given)).status,
    envs: async () => (await envs(token)).json(),
    prints: async (command) => {
      const body = JSON.stringify({ command });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`http://${host}:${PORTS.exec}/execute`, { method: 'POST', headers, body });
      const { stdout, stderr, exit_code: code } = resultSchema.parse(await answer.json());
      if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`);
      return stdout.trim();
    },
  };
}

async function readToken({ client }: Team, claim: SandboxClaim): Promise<string> {
  const key = { namespace: inject('releaseNamespace'), name: 'sandlot-runtime' };
  const { data = {} } = await client.get(secrets, key);
  const read = (entry: string) => Buffer.from(data[entry] ?? '', 'base64').toString();
  const keys = new TokenKeys({
    key: read('envd.key'),
    number: Number(read('envd.key.number') || 1),
    other: read('envd.key.other') || undefined,
  });
  return deriveEnvdAccessToken(keys.of(claim), formatTokenSubject(claim));
}
