import { createInformer, services } from '@sandlot/kube';
import type { Informer, InformerOptions, Service } from '@sandlot/kube';
import type { ProxyAddresses } from '../plan/plan.ts';

type Shared = Pick<InformerOptions<Service>, 'client' | 'clock' | 'random' | 'metrics' | 'log'>;

export interface ProxyServicesOptions extends Shared {
  readonly namespace: string;
  /** Names of the two Services. */
  readonly passed: string;
  readonly inspected: string;
}

/** Follows the two Services of the proxy. The process may see no other Service, so each has an informer. */
export class ProxyServices {
  readonly informers: readonly Informer<Service>[];
  readonly #options: ProxyServicesOptions;

  constructor(options: ProxyServicesOptions) {
    const { namespace, passed, inspected, ...shared } = options;
    this.#options = options;
    this.informers = [passed, inspected].map((name) =>
      createInformer({
        ...shared,
        resource: services,
        namespaces: [namespace],
        fieldSelector: `metadata.name=${name}`,
      }),
    );
  }

  /** The addresses of the proxy. A text says which Service has none. */
  find(): ProxyAddresses | string {
    const { namespace, passed, inspected } = this.#options;
    const [first, second] = [passed, inspected].map((name) => this.#listAddresses(name));
    if (first?.length && second?.length) return { passed: first, inspected: second };
    const name = first?.length ? inspected : passed;
    return `Service "${name}" in namespace "${namespace}" is missing or has no cluster IP`;
  }

  /** Calls the handler whenever the addresses have changed, until the result is disposed of. */
  follow(onChange: () => void): Disposable {
    let seen = JSON.stringify(this.find());
    const compare = (): void => {
      const now = JSON.stringify(this.find());
      if (now === seen) return;
      seen = now;
      onChange();
    };
    const stack = new DisposableStack();
    for (const informer of this.informers) stack.use(informer.onChange(compare));
    return stack;
  }

  #listAddresses(name: string): readonly string[] {
    const key = `${this.#options.namespace}/${name}`;
    const found = this.informers.map(({ store }) => store.get(key)).find((service) => service !== undefined);
    return (found?.spec?.clusterIPs ?? []).filter((address) => address !== '' && address !== 'None');
  }
}
