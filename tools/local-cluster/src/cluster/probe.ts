import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { exec } from '../process/exec.ts';
import { firstReply } from '../test-servers/line-protocol.ts';

/** How to ask a component whether it works. Plain data, kept beside the pid, so that `status` can ask too. */
export type Probe =
  /** A GET answered by 200; certificates are not verified. */
  | { kind: 'http'; url: string }
  /** What a server on a loopback port first says (to `send`) begins with `expect`. */
  | { kind: 'banner'; port: number; send: string; expect: string }
  /** A command that exits with 0. */
  | { kind: 'command'; argv: readonly string[] }
  /** Being alive is all that can be asked. */
  | { kind: 'alive' };

const timeoutMs = 3_000;

/** True when the component answers as it should, within seconds. */
export async function isHealthy(probe: Probe): Promise<boolean> {
  switch (probe.kind) {
    case 'http':
      return (await statusOf(probe.url)) === 200;
    case 'banner':
      return (await firstReply(probe.port, probe.send)).startsWith(probe.expect);
    case 'command':
      return (await exec(probe.argv, { timeoutMs })).code === 0;
    case 'alive':
      return true;
  }
}

async function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: timeoutMs, rejectUnauthorized: false, agent: false };
    const call = (url.startsWith('https:') ? httpsRequest : httpRequest)(url, options, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(undefined));
    call.end();
  });
}
