import { findFreePort, startImagePlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

export const OPTIONAL = ['template-builder', 'image-plane', 'webhooks'] as const;
/** Nothing listens there: no build runs. */
const NOWHERE = '127.0.0.1:9';

/** The template-builder with its image plane, and the webhooks process, beside the controllers of a stage. They have nothing to do. */
export class OptionalServices implements AsyncDisposable {
  /** Where Prometheus finds each process. */
  readonly addresses: Readonly<Record<(typeof OPTIONAL)[number], string>>;
  readonly #open: AsyncDisposableStack;

  private constructor(addresses: OptionalServices['addresses'], open: AsyncDisposableStack) {
    this.addresses = addresses;
    this.#open = open;
  }

  static async open(stage: Stage): Promise<OptionalServices> {
    await using open = new AsyncDisposableStack();
    const plane = await startImagePlane(NOWHERE);
    open.defer(() => plane.stop());
    const common = { KUBECONFIG: stage.plane.kubeconfigPath, POD_NAMESPACE: NAMESPACE, ...stage.env };
    const builder = await startServiceProcess(findMain('template-builder'), {
      ...common,
      ENVD_TOKEN_KEY: Buffer.alloc(32, 1).toString('base64'),
      GATEWAY_URL: `http://${NOWHERE}`,
      IMAGE_PLANE_SOCKET: plane.socketPath,
      BUILD_REGISTRY: NOWHERE,
      BUILD_IMAGES_RECORD: 'build-images',
      BUILD_IMAGES_COLLECT: 'true',
      NATS_URL: stage.nats.url,
      PORT: String(await findFreePort()),
    });
    open.use(builder);
    const webhooks = await startServiceProcess(findMain('webhooks'), {
      ...common,
      NATS_URL: stage.nats.url,
      HOOKS_NAMESPACE: NAMESPACE,
      PORT: String(await findFreePort()),
    });
    open.use(webhooks);
    const addresses = {
      'template-builder': `127.0.0.1:${builder.metricsPort}`,
      'image-plane': new URL(plane.url).host,
      webhooks: `127.0.0.1:${webhooks.metricsPort}`,
    };
    return new OptionalServices(addresses, open.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}

function findMain(service: string): URL {
  return new URL(`file://${checkoutRoot}/services/${service}/src/main.ts`);
}
