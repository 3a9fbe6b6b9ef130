import { systemClock } from '@sandlot/std';
import type { Clock } from '@sandlot/std';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { namespaces } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { conformanceCases } from './conformance.ts';
import { widgetScale, widgets, widgetsV1Alpha1 } from './context.ts';
import { createRawRequester } from './raw.ts';
import type { RawRequester } from './raw.ts';
import { startFakeApiServer } from '../server/server.ts';
import type { FakeApiServer } from '../server/server.ts';

/** Runs a hundred times faster than real time, to shorten watch timeouts. */
const hastyClock: Clock = {
  ...systemClock,
  setTimeout: (fn, delayMs) => systemClock.setTimeout(fn, delayMs / 100),
};

describe('the fake API server', () => {
  let server: FakeApiServer;
  let client: KubeClient;
  let raw: RawRequester;
  let count = 0;

  beforeAll(async () => {
    const resources = [{ resource: widgets, scale: widgetScale }, widgetsV1Alpha1];
    server = await startFakeApiServer({ resources, strictNamespaces: true, clock: hastyClock });
    client = server.client();
    raw = createRawRequester(server.credentials());
  });

  afterAll(() => server.stop());

  describe.each(Object.entries(conformanceCases))('%s', (_subject, cases) => {
    it.each(cases)('$name', async ({ run }) => {
      count += 1;
      const namespace = `case-${count}`;
      server.seed(namespaces, { metadata: { name: namespace } });
      // Create a revision after 1, because a case expects resourceVersion 1 to be too old.
      if (count === 1) server.faults.expireResourceVersions();
      await run({ client, raw, namespace });
    });
  });
});
