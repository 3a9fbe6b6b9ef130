import type { ControllerParts } from '@sandlot/service';
import { listVolumeHopKeys, readTokenKeys } from '@sandlot/tenancy';
import { createRemoveData } from './files/remove-data.ts';
import { reconcile } from './reconcile.ts';
import type { VolumeSettings } from './wiring/config.ts';
import { createVolumeInformer, watchSources } from './wiring/informers.ts';

/** Adds the controller of volumes to a manager. */
export function addVolumeController(parts: ControllerParts, settings: VolumeSettings): void {
  const { client, manager, clock, random, log, kubeMetrics } = parts;
  const { VOLUMES_NAMESPACE: registry } = settings;
  const volumes = createVolumeInformer({ client, clock, random, log, metrics: kubeMetrics }, registry);
  const tokenKeys = readTokenKeys(settings);
  const deps = {
    ...{ client, log, registry },
    volumes: volumes.store,
    objects: { ...settings, hopKeys: listVolumeHopKeys(tokenKeys) },
    removeData: createRemoveData({ url: settings.VOLUME_SERVER_URL, tokenKeys, clock, log }),
  };
  manager.add({
    name: 'volumes',
    concurrency: settings.CONCURRENCY,
    sources: watchSources(volumes),
    reconcile: (namespace, context) => reconcile(deps, namespace, context),
  });
}
