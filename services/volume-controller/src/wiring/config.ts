import { json, text } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { tokenKeySettings } from '@sandlot/tenancy';
import { z } from 'zod';

const object = z.record(z.string(), z.json());

/** Settings of the volume-controller, by environment variable. */
export const volumeSettings = controllerSettings.extend({
  ...tokenKeySettings,
  /** Namespace in which volumes are registered. */
  VOLUMES_NAMESPACE: text(),
  /** A class whose disks several nodes may mount at the same time. */
  VOLUMES_STORAGE_CLASS: text(),
  /** Size of the disk of a namespace, as a quantity of Kubernetes. */
  VOLUMES_SIZE: text().default('100Gi'),
  /** Image of the file server. */
  VOLUME_SERVER_IMAGE: text(),
  VOLUME_SERVER_PULL_POLICY: text().default('IfNotPresent'),
  VOLUME_SERVER_RESOURCES: json('a JSON object with requests and limits', object).default({}),
  /** Peers of a NetworkPolicy that may reach file servers: the API and this controller. */
  VOLUME_SERVER_PEERS: json('a JSON list of peers of a NetworkPolicy', z.array(object)),
  /** URL of the file server of a namespace, with `{namespace}` in place of its name; absent: its Service. */
  VOLUME_SERVER_URL: text().optional(),
});

export type VolumeSettings = z.output<typeof volumeSettings>;
