// The snapshot-controller process: it has the agents of the nodes save and restore the memory of Sandboxes.
import { main, runController } from '@sandlot/service';
import { addSnapshotController } from './controller.ts';
import { snapshotSettings } from './wiring/config.ts';

await main(snapshotSettings, (settings) =>
  runController({
    name: 'snapshot-controller',
    settings,
    build: (parts) =>
      addSnapshotController(parts, {
        concurrency: settings.CONCURRENCY,
        places: {
          namespaces: settings.WATCH_NAMESPACES,
          agentNamespace: settings.SNAPSHOT_AGENT_NAMESPACE ?? settings.POD_NAMESPACE,
          agentSelector: settings.SNAPSHOT_AGENT_SELECTOR,
        },
        agents: { tlsDir: settings.SNAPSHOT_AGENT_TLS_DIR, port: settings.SNAPSHOT_AGENT_PORT },
      }),
  }),
);
