import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  claimManifest as claim,
  GROUP,
  formatPoolManifest,
  formatTemplateManifest as template,
} from '../support/manifests.ts';
import { waitForClaimReason, waitForReadyClaim, findReadyCondition } from '../support/sandboxes.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

let team: Team;
beforeAll(async () => {
  team = await createTeam('manifests');
});
afterAll(() => team[Symbol.asyncDispose]());

describe('a manifest that the API server refuses', () => {
  const rows: readonly (readonly [string, string, RegExp])[] = [
    [
      'an unknown field',
      claim('bad', '{warmPoolRef: {name: p}, warmPoolReff: {name: p}}'),
      /unknown field "spec\.warmPoolReff"/,
    ],
    [
      'the references of both versions at once',
      claim('bad', '{warmPoolRef: {name: p}, sandboxTemplateRef: {name: t}}'),
      /exactly one of warmPoolRef and sandboxTemplateRef must be set/,
    ],
    ['no reference at all', claim('bad', '{}'), /exactly one of warmPoolRef and sandboxTemplateRef must be set/],
    [
      'replicas with operatingMode',
      `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: bad}
spec: {replicas: 1, operatingMode: Running, podTemplate: {spec: {containers: [{name: c, image: busybox}]}}}
`,
      /replicas and operatingMode are mutually exclusive/,
    ],
    [
      'a template without containers',
      `
apiVersion: ${GROUP}/v1beta1
kind: SandboxTemplate
metadata: {name: bad}
spec: {podTemplate: {spec: {}}}
`,
      /containers: Required value/,
    ],
  ];
  it.each(rows)('with %s gets a message that says so', async (_, manifest, message) => {
    const { code, stderr } = await team.tryApply(manifest);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
  });
});

describe('a claim that cannot be served', () => {
  it('names the missing pool, and is served when the pool appears', async () => {
    await team.apply(claim('early', '{warmPoolRef: {name: late-pool}}'));
    const waiting = await waitForClaimReason(team, 'early', 'WarmPoolNotFound');
    expect(findReadyCondition(waiting)?.message).toBe('SandboxWarmPool "late-pool" not found');
    await team.apply(template('late'));
    await team.apply(formatPoolManifest('late-pool', 'late', 1));
    await waitForReadyClaim(team, 'early');
  });

  it('names the missing template', async () => {
    await team.apply(claim('no-template', '{sandboxTemplateRef: {name: ghost}}', 'v1alpha1'));
    const waiting = await waitForClaimReason(team, 'no-template', 'TemplateNotFound');
    expect(findReadyCondition(waiting)?.message).toBe('SandboxTemplate "ghost" not found');
  });

  it('shows that an image cannot be pulled, on the claim and as an Event of the pod', async () => {
    await team.apply(template('no-image', 'image: "registry.invalid/ghost:1"'));
    await team.apply(claim('no-image', '{sandboxTemplateRef: {name: no-image}}'));
    const pending = await waitForClaimReason(team, 'no-image', 'DependenciesNotReady');
    expect(findReadyCondition(pending)?.message).toMatch(/^Pod exists with phase: Pending/);
    await eventually('the kubelet says why', async () => {
      const events = await team.kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}');
      return /registry\.invalid\/ghost:1/.test(events) ? true : undefined;
    });
  });

  it('shows why the API server refuses a pod without an image', async () => {
    await team.apply(template('imageless', ''));
    await team.apply(claim('imageless', '{sandboxTemplateRef: {name: imageless}}'));
    const refused = await waitForClaimReason(team, 'imageless', 'InvalidConfiguration');
    expect(findReadyCondition(refused)?.message).toMatch(/Pod "imageless" is invalid: .*image: Required value/);
  });

  it('fails for good when the template does not allow its variables', async () => {
    await team.apply(template('plain'));
    await team.apply(claim('env', '{sandboxTemplateRef: {name: plain}, env: [{name: A, value: b}]}'));
    const refused = await waitForClaimReason(team, 'env', 'EnvVarsInjectionRejected');
    expect(findReadyCondition(refused)?.message).toBe(
      'environment variable injection rejected: environment variable injection is not allowed by the template policy',
    );
    expect(refused.status?.phase).toBe('Failed');
  });
});
