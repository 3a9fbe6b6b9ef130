import { sandboxClaims } from '@sandlot/api-types';
import { deleteClaim } from '../claims/bursts.ts';
import { Observer } from '../claims/observer.ts';
import { waitUntilFull } from '../claims/pool.ts';
import { pause } from '../claims/shapes.ts';
import { CONTROLLERS } from '../claims/stage.ts';
import type { ControllerName, Stage } from '../claims/stage.ts';
import { SERVERS } from '../observability/api-and-gateway.ts';
import type { ApiAndGateway, ServerName } from '../observability/api-and-gateway.ts';
import { buildRecord } from '../support/record.ts';
import { buildWork, NextMember } from './first-work.ts';
import { readServerLoad, subtract } from './server-load.ts';
import type { ServerLoad } from './server-load.ts';

/** The size of the pool whose members the claims get. */
export const POOL_SIZE = 20;
/** How often each start is measured. One alone is off by a collection of garbage, or by what else the machine does. */
const REPEATS = 3;
/** Until the Sandbox and the Pod of the last claim are gone. */
const SETTLE_MS = 3_000;

/** One start of a new process. */
export interface Start {
  /** Until the end of work that waited for it. */
  readonly firstWorkMs: number;
  /** What the API server did meanwhile. */
  readonly load: ServerLoad;
}

/** The processes that read all objects when they start. */
export const STARTED = [...CONTROLLERS, ...SERVERS] as const;
export type StartedName = (typeof STARTED)[number];

export type Starts = Readonly<Record<StartedName, readonly Start[]>>;

export interface Surroundings {
  readonly stage: Stage;
  readonly servers: ApiAndGateway;
  readonly say: (text: string) => void;
}

/** Kills each process and starts it anew, several times. */
export async function measureStarts({ stage, servers, say }: Surroundings, sandboxes: number): Promise<Starts> {
  const starts = buildRecord(STARTED, (): Start[] => []);
  for (const name of CONTROLLERS) {
    for (let time = 1; time <= REPEATS; time += 1) {
      say(`${sandboxes} sandboxes: ${name} dies and starts again, ${time} of ${REPEATS}`);
      starts[name].push(await measureStart(stage, name, `after-${name}-${sandboxes}-${time}`));
      await waitUntilFull(stage, POOL_SIZE);
      await pause(SETTLE_MS);
    }
  }
  for (const name of SERVERS) {
    for (let time = 1; time <= REPEATS; time += 1) {
      say(`${sandboxes} sandboxes: ${name} dies and starts again, ${time} of ${REPEATS}`);
      starts[name].push(await measureServerStart(stage, servers, name));
      await pause(SETTLE_MS);
    }
  }
  return starts;
}

/** Its first work is the answer to a request that passes both servers. */
async function measureServerStart(stage: Stage, servers: ApiAndGateway, name: ServerName): Promise<Start> {
  await servers.kill(name);
  await stage.collectGarbage();
  const before = await readServerLoad(stage);
  const startedMs = performance.now();
  await servers.start(name);
  await servers.list();
  const firstWorkMs = performance.now() - startedMs;
  return { firstWorkMs, load: subtract(await readServerLoad(stage), before) };
}

/** Starts the process under the name of the killed one, so that it gets its lease back at once, and gives it work. */
async function measureStart(stage: Stage, name: ControllerName, claim: string): Promise<Start> {
  await stage.kill(`${name}-0`);
  await using observer = await Observer.watch(stage.client);
  await using member = await NextMember.watch(stage.client);
  // Whether a collection begins during a start depends on what was before, and it takes as much CPU as a start.
  await stage.collectGarbage();
  const before = await readServerLoad(stage);
  const startedMs = performance.now();
  await stage.startReplica(name, 0);
  // The observer keeps no claim that it does not expect, and the claim may be Ready before the create is answered.
  observer.recordSending(claim);
  await stage.client.create(sandboxClaims, buildWork(name, claim));
  await (name === 'warmpool-controller' ? member.waitUntilMade() : observer.waitForReady(claim));
  const firstWorkMs = performance.now() - startedMs;
  const load = subtract(await readServerLoad(stage), before);
  await observer.waitForReady(claim);
  await deleteClaim(stage.client, claim);
  return { firstWorkMs, load };
}
