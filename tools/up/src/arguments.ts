import { parseArgs } from 'node:util';

/** The parsed command line. */
export type Invocation =
  | { readonly command: 'up'; readonly options: UpOptions }
  | { readonly command: 'down' | 'status' | 'help' }
  | { readonly command: 'wrong'; readonly problem: string };

export interface UpOptions {
  /** Needs no root: a control plane with simulated nodes, and the controllers as processes. */
  readonly simulated: boolean;
  /** Kubeconfig file of the user's own cluster. */
  readonly kubeconfig: string | undefined;
  /** `HOST/PATH` of a registry that this cluster pulls from. */
  readonly registry: string | undefined;
  /** How many real nodes the local cluster has. */
  readonly nodes: number;
  readonly demo: boolean;
  /** Whether to run Prometheus and Jaeger beside Sandlot. Undefined keeps the current state. */
  readonly observability: boolean | undefined;
}

export const help = `npm run up                       start or repair the cluster, install Sandlot, run the demonstration
npm run up -- --simulated        without root: control plane and simulated nodes; claims bind, nothing executes
npm run up -- --kubeconfig FILE [--registry HOST/PATH]
                                 install into a cluster you have; push our images to a registry it pulls from
npm run up -- --nodes 2          two nodes on this machine, each with its own kubelet, containerd and folders; at most 3
npm run up -- --no-demo          leave the demonstration out
npm run up -- --observability    Prometheus and Jaeger on the local node too; they stay until --no-observability
npm run status                   components, their health and log files
npm run down                     remove everything that up created
`;

const nodeCounts: readonly number[] = [1, 2, 3];

/** Parses the arguments after the program's name. Pure. */
export function parseInvocation(args: readonly string[]): Invocation {
  const [command = 'help', ...rest] = args;
  if (rest.includes('--help') || rest.includes('-h') || ['help', '--help', '-h'].includes(command)) {
    return { command: 'help' };
  }
  if (command === 'up') return parseUp(rest);
  if (command !== 'down' && command !== 'status') return { command: 'wrong', problem: `unknown command: ${command}` };
  return rest.length === 0
    ? { command }
    : { command: 'wrong', problem: `${command} takes no options: ${rest.join(' ')}` };
}

function parseUp(args: readonly string[]): Invocation {
  try {
    const { values } = parseArgs({
      args: [...args],
      strict: true,
      allowNegative: true,
      options: {
        simulated: { type: 'boolean', default: false },
        kubeconfig: { type: 'string' },
        registry: { type: 'string' },
        nodes: { type: 'string', default: '1' },
        demo: { type: 'boolean', default: true },
        observability: { type: 'boolean' },
      },
    });
    const { simulated, kubeconfig, registry, demo, observability } = values;
    const options = { simulated, kubeconfig, registry, nodes: Number(values.nodes), demo, observability };
    const problem = findContradiction(options);
    return problem === undefined ? { command: 'up', options } : { command: 'wrong', problem };
  } catch (error) {
    return { command: 'wrong', problem: error instanceof Error ? error.message : String(error) };
  }
}

function findContradiction(options: UpOptions): string | undefined {
  const { simulated, kubeconfig, registry } = options;
  if (simulated && kubeconfig !== undefined)
    return '--simulated creates a cluster, --kubeconfig names one: choose one of them';
  if (registry !== undefined && kubeconfig === undefined) return '--registry goes with --kubeconfig';
  if (!nodeCounts.includes(options.nodes)) return `--nodes is one of ${nodeCounts.join(', ')}`;
  return simulated || kubeconfig !== undefined ? findLocalOption(options) : undefined;
}

/** What only a local cluster with a real node can do. */
function findLocalOption({ nodes, observability }: UpOptions): string | undefined {
  if (nodes > 1) return '--nodes adds nodes to the local node: leave --simulated and --kubeconfig out';
  if (observability === true) {
    return '--observability runs Prometheus and Jaeger on the local node: leave --simulated and --kubeconfig out';
  }
  return undefined;
}
