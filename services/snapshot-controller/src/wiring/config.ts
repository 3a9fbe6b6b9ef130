import { port, text } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';

/** Settings of the snapshot-controller, by environment variable. */
export const snapshotSettings = controllerSettings.extend({
  /** Folder with tls.crt, tls.key and ca.crt, by which the agents of the nodes recognise the controller. */
  SNAPSHOT_AGENT_TLS_DIR: text().default('/etc/sandlot/snapshot-agent'),
  SNAPSHOT_AGENT_PORT: port().default(8443),
  /** Absent: the pod's own namespace. */
  SNAPSHOT_AGENT_NAMESPACE: text().optional(),
  /** Labels of the Pods of the agents. */
  SNAPSHOT_AGENT_SELECTOR: text().default('app.kubernetes.io/component=node'),
});
