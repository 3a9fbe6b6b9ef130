import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, echo, startSandboxServer } from '../../test/client.ts';
import { GatewayHarness } from '../../test/harness.ts';

let harness: GatewayHarness;
beforeAll(async () => {
  harness = await GatewayHarness.start({ AGENT_SANDBOX_METRICS: 'true' });
});
afterAll(() => harness[Symbol.asyncDispose]());

describe("the metrics of agent-sandbox's router", () => {
  it('count requests by method, code and the namespace of the sandbox, never by what a client made up', async () => {
    const sandbox = await harness.createSandbox();
    await startSandboxServer(sandbox.address, echo);
    const headers = { Host: harness.buildHost(sandbox, 8080), 'X-Sandbox-Namespace': 'made-up' };
    expect((await ask(harness.port, { headers })).status).toBe(200);
    await ask(harness.port, { headers, method: 'PROPFIND' });
    await ask(harness.port, { headers: { 'X-Sandbox-ID': 'nothing', 'X-Sandbox-Namespace': 'made-up' } });
    const exposed = await harness.metrics();
    expect(exposed).toMatch(/sandbox_router_requests_total\{method="GET",code="200",sandbox_namespace="team-a"\} 1\b/);
    expect(exposed).toMatch(
      /sandbox_router_requests_total\{method="other",code="200",sandbox_namespace="team-a"\} 1\b/,
    );
    expect(exposed).toMatch(/sandbox_router_requests_total\{method="GET",code="\d+",sandbox_namespace="-"\} 1\b/);
    expect(exposed).toMatch(/sandbox_router_request_duration_seconds_bucket\{le="180",method="GET",code="200"/);
    expect(exposed).toMatch(/sandbox_router_inflight_requests 0\b/);
    expect(exposed).not.toContain('made-up');
  });
});
