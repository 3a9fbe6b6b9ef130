// The warmpool-controller process: keeps pools of unclaimed Sandboxes warm.
import { main, runController } from '@sandlot/service';
import { warmPoolSettings } from './config.ts';
import { addWarmPoolController } from './controller.ts';

await main(warmPoolSettings, (settings) =>
  runController({
    name: 'warmpool-controller',
    settings,
    build: (parts) =>
      addWarmPoolController(parts, {
        concurrency: settings.CONCURRENCY,
        namespace: settings.WATCH_NAMESPACE,
        podDefaults: {
          dnsNameservers: settings.SANDBOX_NAMESERVERS,
          securityDefaults: settings.SECURITY_DEFAULTS,
          runtimeClassName: settings.SANDBOX_RUNTIME_CLASS,
        },
      }),
  }),
);
