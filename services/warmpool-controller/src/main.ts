// The process of the warmpool-controller: it keeps pools of unclaimed Sandboxes warm, and the NetworkPolicies of templates.
import { findEgressProxy, readPodDefaults } from '@sandlot/blueprint';
import { main, runController } from '@sandlot/service';
import { addGoldenController } from './golden/controller.ts';
import { warmPoolSettings } from './wiring/config.ts';
import { addWarmPoolController } from './controller.ts';
import { addTemplateController } from './templates/controller.ts';

await main(warmPoolSettings, (settings) =>
  runController({
    name: 'warmpool-controller',
    settings,
    build: (parts) => {
      const common = {
        concurrency: settings.CONCURRENCY,
        namespaces: settings.WATCH_NAMESPACES,
        podDefaults: readPodDefaults(settings),
      };
      const pools = addWarmPoolController(parts, {
        ...common,
        maxInFlight: settings.MAX_IN_FLIGHT,
        snapshotsEnabled: settings.SNAPSHOTS_ENABLED,
      });
      const network = {
        releaseNamespace: settings.POD_NAMESPACE,
        extraBlockedCIDRs: settings.NETWORK_EXTRA_BLOCKED_CIDRS,
        extraEgress: settings.NETWORK_EXTRA_EGRESS,
        protectAuthoredSandboxes: settings.NETWORK_PROTECT_AUTHORED_SANDBOXES,
        egressMode: settings.EGRESS_MODE,
        egressProxy: findEgressProxy(settings),
        hasEgressRules: settings.EGRESS_RULES,
      };
      const concurrency = settings.TEMPLATE_CONCURRENCY ?? settings.CONCURRENCY;
      const templates = addTemplateController(parts, { ...common, concurrency, cache: pools.cache, network });
      const { snapshots } = pools.cache;
      const golden =
        snapshots === undefined
          ? undefined
          : addGoldenController(parts, { ...common, concurrency, cache: { ...pools.cache, snapshots } });
      return {
        close: async () => {
          await Promise.all([pools.close(), templates.close(), golden?.close()]);
        },
      };
    },
  }),
);
