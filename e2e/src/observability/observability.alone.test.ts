import { sandboxClaims } from '@sandlot/api-types';
import { promExemplars, promQuery, fetchTrace } from '@sandlot/local-cluster';
import { prometheusUrl, tracesUrl } from '@sandlot/up';
import { describe, expect, it } from 'vitest';
import { claimManifest, formatPoolManifest, formatTemplateManifest } from '../support/manifests.ts';
import { waitForFullPool, waitForReadyClaim } from '../support/sandboxes.ts';
import { eventually, runInTeam } from '../support/team.ts';

const controllers = ['claim-controller', 'sandbox-controller', 'snapshot-controller', 'warmpool-controller'];
const services = [
  ...controllers,
  'api',
  'egress',
  'egress-proxy',
  'gateway',
  'image-plane',
  'key-keeper',
  'node',
  'streams',
  'template-builder',
  'volume-controller',
  'webhooks',
].toSorted();

interface RulesJson {
  readonly data: { readonly groups: readonly { readonly rules: readonly { readonly health: string }[] }[] };
}

describe('Prometheus and Jaeger beside the release', () => {
  it('scrape every service of the chart', async () => {
    const up = await eventually('every service is scraped', async () => {
      const series = await promQuery(prometheusUrl, 'min by (job) (up{namespace!=""})');
      return series.length === services.length && series.every(({ value }) => value === 1) ? series : undefined;
    });
    expect(up.map(({ labels }) => labels['job']).toSorted()).toEqual(services);
  });

  it('evaluate every rule of the chart', async () => {
    const evaluated = await eventually('all rules were evaluated', async () => {
      const response = await fetch(`${prometheusUrl}/api/v1/rules`);
      const { data } = (await response.json()) as RulesJson;
      const rules = data.groups.flatMap((group) => group.rules.map(({ health }) => health));
      return rules.length > 0 && rules.every((health) => health === 'ok') ? rules : undefined;
    });
    expect(new Set(evaluated)).toEqual(new Set(['ok']));
  });

  it('have the trace of a claim, to which an exemplar leads', () =>
    runInTeam('observed', async (team) => {
      const startSeconds = Date.now() / 1000 - 60;
      await team.apply(formatTemplateManifest('box') + '---' + formatPoolManifest('pool', 'box', 1));
      await waitForFullPool(team, 'pool');
      await team.apply(claimManifest('observed', '{warmPoolRef: {name: pool}}'));
      await waitForReadyClaim(team, 'observed');
      const { metadata } = await team.client.get(sandboxClaims, { namespace: team.namespace, name: 'observed' });
      const claimUid = metadata.uid ?? '';
      const trace = await eventually('an exemplar leads to the trace of the claim', async () => {
        const range = { start: startSeconds, end: Date.now() / 1000 + 60 };
        const exemplars = await promExemplars(prometheusUrl, '{__name__=~"sandlot_claim_.+_bucket"}', range);
        const ids = new Set(exemplars.map(({ labels }) => labels['trace_id'] ?? ''));
        const traces = await Promise.all([...ids].map((id) => fetchTrace(tracesUrl, id)));
        return traces.find((spans) => spans.some(({ attributes }) => Object.values(attributes).includes(claimUid)));
      });
      expect(trace.some(({ service, parentSpanId }) => service === 'claim-controller' && parentSpanId === '')).toBe(
        true,
      );
    }));
});
