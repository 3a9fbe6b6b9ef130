import { flag, integer, json, port, text, url } from '@sandlot/config';
import { controllerSettings } from '@sandlot/service';
import { tokenKeySettings } from '@sandlot/tenancy';
import { z } from 'zod';

/** Settings of the template-builder, by environment variable. */
export const builderSettings = controllerSettings.extend({
  ...tokenKeySettings,
  /** Through it the steps run: NetworkPolicies let no other process reach the daemon of a sandbox. */
  GATEWAY_URL: url(['http', 'https']),
  /** Socket of the image plane. */
  IMAGE_PLANE_SOCKET: text().default('/run/sandlot/image.sock'),
  /** Where images go, such as `registry.example.com/sandlot`. */
  BUILD_REGISTRY: text(),
  /** Where the API reads logs of builds and hands in files. */
  PORT: port().default(8080),
  /** Builds that one process runs at the same time. */
  BUILD_CONCURRENCY: integer({ min: 1, max: 1_000 }).default(8),
  /** Builds that run at the same time for one namespace. */
  BUILDS_PER_NAMESPACE: integer({ min: 1, max: 1_000 }).default(4),
  /** Name of the ConfigMap, in the namespace of this process, that records which namespaces have images. Without it no image is deleted. */
  BUILD_IMAGES_RECORD: text().optional(),
  /** Whether images that nothing needs are deleted from the registry. */
  BUILD_IMAGES_COLLECT: flag().default(false),
  /** How long nothing may need an image before it is deleted. */
  BUILD_IMAGES_GRACE_SECONDS: integer({ min: 10, max: 31_536_000 }).default(86_400),
  /** Images for names that clients write, such as `e2bdev/base`. */
  BUILD_BASE_IMAGES: json('a JSON object of images by name', z.record(z.string(), z.string())).default({}),
  /** Namespace of the credentials that the API stores for builds; undefined: this installation runs no API. */
  ENVS_NAMESPACE: text().optional(),
  /** Whether a build may name a Secret of its namespace with credentials for a registry. */
  BUILD_NAMESPACE_SECRETS: flag().default(false),
  /** Members of the pool that a build gives each template that has none. 0: none. */
  BUILD_POOL_REPLICAS: integer({ min: 0, max: 1_000 }).default(0),
  /** What every template of a build has besides its image: part of the spec of a SandboxTemplate. */
  BUILD_TEMPLATE: json(
    'a JSON object, part of the spec of a SandboxTemplate',
    z.record(z.string(), z.unknown()),
  ).default({}),
});

export type BuilderSettings = z.output<typeof builderSettings>;
