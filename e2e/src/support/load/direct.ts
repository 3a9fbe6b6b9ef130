import { pods } from '@sandlot/kube';
import type { Sandbox } from 'e2b';
import { runKubectlOrFail } from '../kubectl.ts';
import { patchSpec, waitForReadySandbox } from '../lifecycle.ts';
import { readPodOf, TENANT } from '../sdk/objects.ts';
import { OPEN_FILE } from '../sdk/witness.ts';
import { eventually } from '../team.ts';
import type { Team } from '../team.ts';
import { repeat } from './repeat.ts';
import type { Running } from './repeat.ts';
import type { Report } from './report.ts';
import { createCountCheck } from './requests.ts';
import { Tally } from './tally.ts';

const PAUSE_MS = 1_000;
/** Longer than it takes to install a release. */
const PATIENCE_MS = 300_000;
const SWITCHED = 'switched';
const COUNTER = '/data/count';

/** What `NO_HARM` is for the calls of this load. */
export const NO_DIRECT_HARM = {
  'execs by kubectl failed': [],
  'suspensions by spec failed': [],
  'resumptions by spec failed': [],
} as const;

/** The Sandbox that is suspended and woken, in the words that both projects have. Its program counts its starts on a disk. */
const MANIFEST = `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: ${SWITCHED}}
spec:
  operatingMode: Running
  podTemplate:
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: box
        image: busybox
        command: [sh, -c, "echo >> ${COUNTER} && sync && exec sleep infinity"]
        volumeMounts: [{name: work, mountPath: /data}]
  volumeClaimTemplates:
  - {metadata: {name: work}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Mi}}}}
`;

/**
 * A load that needs neither the gateway nor the API of a release, so that it goes on while another controller, or none, is there:
 * commands by `kubectl exec`, which reach a Pod by the API server and the kubelet, and a Sandbox that its author suspends and wakes.
 */
export class DirectLoad implements AsyncDisposable {
  readonly #tallies = { execs: new Tally(), suspensions: new Tally(), resumptions: new Tally() };
  readonly #running: readonly Running[];

  private constructor(team: Team, podNames: readonly string[]) {
    const { execs } = this.#tallies;
    this.#running = [...podNames.map((name) => startKubectlExecs(name, execs)), this.#startSwitches(team)];
  }

  /** The commands run in the Pods of these sandboxes of the API, whose witnesses count. */
  static async start(team: Team, boxes: readonly Sandbox[]): Promise<DirectLoad> {
    await team.apply(MANIFEST);
    await waitForReadySandbox(team, SWITCHED);
    const found = await Promise.all(boxes.map((each) => readPodOf(team.client, each)));
    return new DirectLoad(
      team,
      found.map(({ metadata }) => metadata.name ?? ''),
    );
  }

  #startSwitches(team: Team): Running {
    const { suspensions, resumptions } = this.#tallies;
    let starts = 1;
    return repeat(PAUSE_MS, async () => {
      await suspensions.run(() => suspend(team));
      starts += 1;
      await resumptions.run(() => resume(team, starts));
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.map((each) => each.stop()));
  }

  /** Ends the load, and returns the counts. */
  async finish(): Promise<Report['calls']> {
    await this.stop();
    const { execs, suspensions, resumptions } = this.#tallies;
    return {
      'execs by kubectl': execs.read(),
      'suspensions by spec': suspensions.read(),
      'resumptions by spec': resumptions.read(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function startKubectlExecs(podName: string, tally: Tally): Running {
  const check = createCountCheck();
  const args = ['--namespace', TENANT, 'exec', podName, '--', 'tail', '-n', '1', OPEN_FILE];
  return repeat(PAUSE_MS, () => tally.run(async () => check(await runKubectlOrFail(args))));
}

async function suspend(team: Team): Promise<void> {
  await patchSpec(team, SWITCHED, { operatingMode: 'Suspended' });
  const key = { namespace: team.namespace, name: SWITCHED };
  await eventually(
    `the Pod of ${SWITCHED} is gone`,
    async () => ((await team.client.find(pods, key)) === undefined ? true : undefined),
    PATIENCE_MS,
  );
}

/** Neither the status nor its age tells the two controllers' Sandboxes apart as surely as what the program wrote. */
async function resume(team: Team, starts: number): Promise<void> {
  await patchSpec(team, SWITCHED, { operatingMode: 'Running' });
  const counted = await eventually(
    `the program of ${SWITCHED} runs`,
    async () => {
      const lines = (await team.sh(SWITCHED, `wc -l < ${COUNTER}`)).trim();
      return lines === String(starts - 1) ? undefined : lines;
    },
    PATIENCE_MS,
  );
  if (counted !== String(starts)) throw new Error(`the disk has ${counted} starts, not ${starts}`);
}
