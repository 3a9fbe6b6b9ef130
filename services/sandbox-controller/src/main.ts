// The sandbox-controller process: gives every Sandbox its Pod, its disks and its Service.
import { main, runController } from '@sandlot/service';
import { findEgressService, sandboxSettings } from './wiring/config.ts';
import { addSandboxController } from './controller.ts';

await main(sandboxSettings, (settings) =>
  runController({
    name: 'sandbox-controller',
    settings,
    build: (parts) =>
      addSandboxController(parts, {
        concurrency: settings.CONCURRENCY,
        namespaces: settings.WATCH_NAMESPACES,
        egressService: findEgressService(settings),
        egressCaFile: settings.EGRESS_CA_FILE,
        settings: {
          clusterDomain: settings.CLUSTER_DOMAIN,
          unsetService: settings.UNSET_SERVICE,
          protectsAuthored: settings.NETWORK_PROTECT_AUTHORED_SANDBOXES,
          snapshotsEnabled: settings.SNAPSHOTS_ENABLED,
          drainEnabled: settings.SNAPSHOTS_ENABLED && settings.DRAIN_ENABLED,
          runtime: {
            image: settings.RUNTIME_IMAGE,
            publicKey: settings.RUNTIME_PUBLIC_KEY,
            gatewayKeys: settings.GATEWAY_PUBLIC_KEYS,
            delivery: settings.RUNTIME_DELIVERY,
            records: settings.RUNTIME_RECORDS,
            identitySeed: settings.RUNTIME_IDENTITY_SEED,
          },
        },
      }),
  }),
);
