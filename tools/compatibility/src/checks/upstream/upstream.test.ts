import { describe, expect, it } from 'vitest';
import { listNames, listUncovered } from './coverage.ts';
import { listEventReasons, listFunctions, listMetrics, listWords } from './go.ts';

describe('Go sources', () => {
  it('have conditions and reasons, as constants and as literals', () => {
    const source = [
      'SandboxConditionReady ConditionType = "Ready"',
      '\tClaimExpiredReason = "ClaimExpired"',
      '\tShutdownPolicyDelete ShutdownPolicy = "Delete"',
      '\t\treason := "ReconcilerError"',
      '\t\tcondition.Reason = "Late"',
      '\t\t\tReason:             "SandboxMissing",',
      '\tif kind == "SandboxWarmPool" {',
    ].join('\n');
    expect(listWords(source)).toEqual(['Ready', 'ClaimExpired', 'ReconcilerError', 'Late', 'SandboxMissing']);
  });

  it('have reasons of Events, as literals and by their constants', () => {
    const source = [
      'ClaimExpiredReason = "ClaimExpired"',
      'r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, "SandboxAdopted", "Adoption", "Adopted %q", name)',
      'r.Recorder.Eventf(claim, nil, corev1.EventTypeNormal, v1beta1.ClaimExpiredReason, "Deleting", "gone")',
    ].join('\n');
    expect(listEventReasons(source, source)).toEqual(['SandboxAdopted', 'ClaimExpired']);
    expect(() => listEventReasons(source, '')).toThrow('v1beta1.ClaimExpiredReason is no constant');
  });

  it('have metrics, and exported functions and methods', () => {
    expect(listMetrics('Name: "agent_sandbox_creation_latency_ms",\n"agent_sandboxes", "namespace"')).toEqual([
      'agent_sandbox_creation_latency_ms',
      'agent_sandboxes',
    ]);
    const source = [
      'func New(ctx context.Context) *Client {',
      'func (c *Client) Close() error {',
      'func (c Client) private() {',
      'func (g *gateway) Connect() {',
      'func helper() {',
      'func Map[T any](values []T) {',
    ].join('\n');
    expect(listFunctions(source)).toEqual(['New', 'Client.Close', 'Map']);
  });

  it('without any of it are an error', () => {
    expect(() => listMetrics('package metrics')).toThrow('nothing matches');
  });
});

describe('what has no row', () => {
  const names = listNames([
    {
      title: '',
      what: '',
      items: [
        ['Client.create(labels=, env=)', 'no', ''],
        ['Client.create(name=)', 'no', ''],
        ['Client.open, Client.close', 'no', ''],
      ],
    },
  ]);

  it('is nothing when every name is a row or has rows below it', () => {
    const methods = {
      Client: [],
      'Client.create': ['name', 'labels', 'env'],
      'AsyncClient.open': [],
      'Client.close': [],
    };
    expect(listUncovered(methods, names)).toEqual([]);
  });

  it('are other methods, and other options of a method whose options rows name', () => {
    const methods = { 'Client.create': ['timeout'], 'Client.open': ['timeout'], 'Client.delete': [], Cli: [] };
    expect(listUncovered(methods, names)).toEqual(['Client.create(timeout=)', 'Client.delete', 'Cli']);
  });
});
