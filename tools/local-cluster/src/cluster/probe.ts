import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { exec } from '../process/exec.ts';
import { callGrpc } from '../process/grpc.ts';
import { readFirstReply } from '../test-servers/line-protocol.ts';

/** How to check a component's health. Plain data, stored beside the pid so that `npm run status` can check too. */
export type Probe =
  /** Healthy if a GET returns 200. Certificates are not verified. */
  | { kind: 'http'; url: string }
  /** Healthy if the first bytes from a loopback port, after sending `send`, begin with `expect`. */
  | { kind: 'banner'; port: number; send: string; expect: string }
  /** Healthy if the gRPC method at this path answers an empty message on a Unix socket with status OK. */
  | { kind: 'grpc'; socket: string; path: string }
  /** Healthy if the command exits with 0. */
  | { kind: 'command'; argv: readonly string[] }
  /** Has no health check: healthy while its process runs. */
  | { kind: 'alive' };

const timeoutMs = 3_000;

/** Runs the probe, with a timeout of a few seconds. Never throws. */
export async function isHealthy(probe: Probe): Promise<boolean> {
  switch (probe.kind) {
    case 'http':
      return (await findStatus(probe.url)) === 200;
    case 'banner':
      return (await readFirstReply(probe.port, probe.send)).startsWith(probe.expect);
    case 'grpc':
      return (await callGrpc(probe.socket, probe.path, timeoutMs)) === 0;
    case 'command':
      return (await exec(probe.argv, { timeoutMs })).code === 0;
    case 'alive':
      return true;
  }
}

async function findStatus(url: string): Promise<number | undefined> {
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
