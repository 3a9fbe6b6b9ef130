// Makes the credentials of a release that do not exist, and renews certificates: nothing else may write them.
import { main, runKubeWorker } from '@sandlot/service';
import { createKeeper } from './reconcile.ts';
import { keeperSettings } from './wiring/settings.ts';

await main(keeperSettings, (settings) =>
  runKubeWorker({
    name: 'key-keeper',
    settings,
    build: ({ client, clock, log }) =>
      createKeeper({ client, clock, log, namespace: settings.POD_NAMESPACE, wanted: settings.WANTED }),
  }),
);
