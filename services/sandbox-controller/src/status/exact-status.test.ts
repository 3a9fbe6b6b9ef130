import type { SandboxStatus } from '@sandlot/api-types';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../plan/snapshot.ts';
import {
  LATER,
  awake,
  base,
  condition,
  finished,
  having,
  named,
  notReady,
  onNode,
  ready,
  scheduled,
  selector,
  aMinuteLater,
  waiting,
  withPod,
} from '../../test/exact-status.ts';
import { getStatus } from './status.ts';
import { NOW, notebook, makePod, buildService, buildSnapshot } from '../../test/builders.ts';

const plain = notebook();
const running = having({});
const ended = { finishedAt: '2026-01-01T11:59:50Z', reason: 'OOMKilled', exitCode: 137 };
const onFailure = { podFailurePolicy: { restart: 'OnFailure', backoffSeconds: 1 } } as const;
const restarts = { lastReason: 'OOMKilled', lastExitTime: ended.finishedAt };
const service = buildService(plain);

const states: readonly (readonly [sentence: string, snapshot: Snapshot, status: SandboxStatus])[] = [
  [
    'a new Sandbox has no Pod',
    buildSnapshot(),
    { ...base, phase: 'Pending', conditions: [waiting('Pod does not exist'), awake()] },
  ],
  [
    'a new Sandbox with a Service has no Pod',
    buildSnapshot({ sandbox: notebook({ spec: { service: true } }), service }),
    { ...base, ...named, phase: 'Pending', conditions: [waiting('Pod does not exist; Service Exists'), awake()] },
  ],
  [
    'a pending Sandbox shows the phase of its Pod, and that the scheduler has not reported',
    having({ phase: 'Pending', node: '', ips: [], conditions: [] }),
    {
      ...withPod,
      phase: 'Pending',
      conditions: [
        condition('PodScheduled', 'Unknown', [
          'PodSchedulingUnknown',
          'Pod has not reported a PodScheduled condition yet',
        ]),
        waiting('Pod exists with phase: Pending'),
        awake(),
      ],
    },
  ],
  [
    'an unschedulable Sandbox repeats the scheduler',
    having({
      phase: 'Pending',
      node: '',
      ips: [],
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
    }),
    {
      ...withPod,
      phase: 'Pending',
      conditions: [
        condition('PodScheduled', 'False', ['Unschedulable', '0/1 nodes']),
        waiting('Pod exists with phase: Pending'),
        awake(),
      ],
    },
  ],
  [
    'a Sandbox whose Pod runs and is not ready',
    having({ ready: false }),
    { ...onNode, phase: 'Pending', conditions: [scheduled, waiting('Pod is Running but not Ready'), awake()] },
  ],
  [
    'a Sandbox whose Pod has no address yet',
    having({ ips: [] }),
    {
      ...withPod,
      nodeName: 'node-1',
      phase: 'Pending',
      conditions: [scheduled, waiting('Pod is Ready but has no podIPs yet'), awake()],
    },
  ],
  [
    'a Sandbox whose Service is missing',
    having({}, { service: true }),
    {
      ...onNode,
      phase: 'Pending',
      conditions: [scheduled, waiting('Pod is Ready; Service does not exist'), awake()],
    },
  ],
  ['a Ready Sandbox', running, { ...onNode, phase: 'Running', conditions: [scheduled, ready(), awake()] }],
  [
    'a Ready Sandbox with a Service',
    having({}, { service: true }, { service }),
    {
      ...onNode,
      ...named,
      phase: 'Running',
      conditions: [scheduled, ready('Pod is Ready; Service Exists'), awake()],
    },
  ],
  [
    'a Ready Sandbox with two address families',
    having({ ips: ['10.0.0.7', 'fd00::7'] }),
    {
      ...onNode,
      podIPs: ['10.0.0.7', 'fd00::7'],
      phase: 'Running',
      conditions: [scheduled, ready(), awake()],
    },
  ],
  [
    'a Ready Sandbox with a lifetime and idle limits',
    having({}, { ttlSeconds: 7_200, idle: { suspendAfterSeconds: 60 } }),
    {
      ...onNode,
      phase: 'Running',
      expiresAt: '2026-01-01T13:00:00Z',
      lastActivityTime: NOW,
      conditions: [scheduled, ready(), awake()],
    },
  ],
  [
    'a Sandbox whose Pod is being deleted is not Ready, and not suspended either',
    aMinuteLater(running, {}, { ownedPods: [makePod(plain, { terminating: true })] }),
    {
      ...onNode,
      phase: 'Pending',
      conditions: [scheduled, waiting('Pod is Running but not Ready', LATER), awake()],
    },
  ],
  [
    'a Sandbox whose Pod is gone keeps its selector',
    aMinuteLater(running, {}),
    { ...base, selector, phase: 'Pending', conditions: [waiting('Pod does not exist', LATER), awake()] },
  ],
  [
    'a Sandbox whose Pod completed',
    having({ phase: 'Succeeded' }),
    {
      ...onNode,
      phase: 'Finished',
      conditions: [
        finished('PodSucceeded', 'Pod completed successfully'),
        scheduled,
        notReady('PodSucceeded', 'Pod completed successfully'),
        awake(),
      ],
    },
  ],
  [
    'a Sandbox whose Pod failed',
    having({ phase: 'Failed' }),
    {
      ...onNode,
      phase: 'Finished',
      conditions: [finished('PodFailed', 'Pod failed'), scheduled, notReady('PodFailed', 'Pod failed'), awake()],
    },
  ],
  [
    'a Sandbox about to restart its Pod has not finished',
    having({ phase: 'Failed', exit: ended }, onFailure),
    {
      ...onNode,
      phase: 'Restarting',
      restarts: { ...restarts, nextRestartTime: '2026-01-01T11:59:51Z' },
      conditions: [scheduled, notReady('PodFailed', 'Pod failed'), awake()],
    },
  ],
  [
    'a Sandbox whose Pod is being replaced counts the restart once the old one is gone',
    aMinuteLater(having({ phase: 'Failed', exit: ended }, onFailure), {}),
    {
      ...base,
      selector,
      phase: 'Restarting',
      restarts: { ...restarts, count: 1 },
      conditions: [waiting('Pod does not exist'), awake()],
    },
  ],
  [
    'a Sandbox at its restart limit has finished',
    having(
      { phase: 'Failed', exit: ended },
      { podFailurePolicy: { restart: 'OnFailure', maxRestarts: 2 } },
      {
        sandbox: notebook({
          spec: { podFailurePolicy: { restart: 'OnFailure', maxRestarts: 2 } },
          status: { restarts: { count: 2 } },
        }),
      },
    ),
    {
      ...onNode,
      phase: 'Finished',
      restarts: { ...restarts, count: 2 },
      conditions: [finished('PodFailed', 'Pod failed'), scheduled, notReady('PodFailed', 'Pod failed'), awake()],
    },
  ],
  [
    'a Sandbox with two Pods shows neither',
    buildSnapshot({ ownedPods: [makePod(plain), makePod(plain, { name: 'other' })] }),
    {
      ...base,
      replicas: 1,
      phase: 'Pending',
      conditions: [
        condition('PodScheduled', 'Unknown', [
          'PodSchedulingUnknown',
          'Pod state is unknown. Pod scheduling cannot be determined',
        ]),
        notReady(
          'MultiplePods',
          'multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod',
        ),
        awake(),
      ],
    },
  ],
  [
    'a Sandbox whose Service failed still shows the state of its Pod',
    having({}, { service: true }, { failures: [{ phase: 'service', message: 'boom' }] }),
    {
      ...onNode,
      phase: 'Pending',
      conditions: [scheduled, notReady('ReconcilerError', 'Error seen: boom'), awake()],
    },
  ],
];

describe('the whole status of', () => {
  it.each(states)('%s', (_, snapshot, expected) => {
    expect(getStatus(snapshot)).toEqual(expected);
  });
});
