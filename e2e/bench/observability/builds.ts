import { findFreePort, startImagePlane } from '@sandlot/local-cluster';
import { startServiceProcess } from '@sandlot/service-testkit';
import { checkoutRoot } from '@sandlot/up';
import { NAMESPACE } from '../claims/stage.ts';
import type { Stage } from '../claims/stage.ts';

export const BUILDS = ['template-builder', 'image-plane'] as const;
/** Nothing listens there: no build runs. */
const NOWHERE = '127.0.0.1:9';

/** The template-builder and its image plane as processes beside the controllers of a stage. No template is built. */
export class Builds implements AsyncDisposable {
  /** Where Prometheus finds each process. */
  readonly addresses: Readonly<Record<(typeof BUILDS)[number], string>>;
  readonly #open: AsyncDisposableStack;

  private constructor(addresses: Builds['addresses'], open: AsyncDisposableStack) {
    this.addresses = addresses;
    this.#open = open;
  }

  static async open(stage: Stage): Promise<Builds> {
    await using open = new AsyncDisposableStack();
    const plane = await startImagePlane(NOWHERE);
    open.defer(() => plane.stop());
    const main = new URL(`file://${checkoutRoot}/services/template-builder/src/main.ts`);
    const controller = await startServiceProcess(main, {
      KUBECONFIG: stage.plane.kubeconfigPath,
      POD_NAMESPACE: NAMESPACE,
      ...stage.env,
      ENVD_TOKEN_KEY: Buffer.alloc(32, 1).toString('base64'),
      GATEWAY_URL: `http://${NOWHERE}`,
      IMAGE_PLANE_SOCKET: plane.socketPath,
      BUILD_REGISTRY: NOWHERE,
      PORT: String(await findFreePort()),
    });
    open.use(controller);
    const addresses = {
      'template-builder': `127.0.0.1:${controller.metricsPort}`,
      'image-plane': new URL(plane.url).host,
    };
    return new Builds(addresses, open.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}
