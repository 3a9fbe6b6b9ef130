import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePackages } from '../packages.ts';
import type { CommandResult } from '../process/exec.ts';
import { exec } from '../process/exec.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** Servers on this machine whose `/metrics` Prometheus scrapes, preferably as OpenMetrics. */
export interface ScrapeTarget {
  /** Value of the label `job` of every series. */
  job: string;
  /** Such as `127.0.0.1:9090`. */
  addresses: readonly string[];
  labels?: Readonly<Record<string, string>> | undefined;
}

/** What to scrape, how often, and which rules to evaluate. */
export interface PrometheusOptions {
  scrapeTargets?: readonly ScrapeTarget[] | undefined;
  /** Contents of rule files: YAML with `groups`. */
  rules?: readonly string[] | undefined;
  /** Milliseconds between scrapes and between rule evaluations. Default 200. */
  intervalMs?: number | undefined;
}

const defaultIntervalMs = 200;
const maxExemplars = 100_000;

/**
 * Starts a Prometheus with exemplar storage that dies with this process. Installs Debian's package if it is missing. The
 * first scrape comes after about five seconds. Throws ComponentError with Prometheus's message if a rule file is invalid.
 */
export async function startPrometheus(options: PrometheusOptions = {}): Promise<Server> {
  await ensurePackages(['prometheus']);
  return startServer({
    name: 'prometheus',
    url: (port) => `http://127.0.0.1:${port}`,
    prepare: async ({ port, folder }) => {
      const rules = options.rules ?? [];
      await Promise.all(rules.map((text, index) => writeFile(join(folder, `${index}.rules.yml`), text)));
      const file = join(folder, 'prometheus.yml');
      // The format is YAML, a superset of JSON.
      await writeFile(file, JSON.stringify(prometheusConfig(options)));
      return prometheusCommand({ file, folder, port });
    },
    isReady: async (port) => isOk(`http://127.0.0.1:${port}/-/ready`),
  });
}

/** Runs Debian's promtool, such as `promtool check rules FILE`. Does not throw on a non-zero exit code. */
export async function runPromtool(args: readonly string[], options: { cwd?: string } = {}): Promise<CommandResult> {
  await ensurePackages(['prometheus']);
  return exec(['promtool', ...args], { cwd: options.cwd });
}

function prometheusCommand(place: { file: string; folder: string; port: number }): readonly string[] {
  return [
    'prometheus',
    `--config.file=${place.file}`,
    `--storage.tsdb.path=${join(place.folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${place.port}`,
    '--enable-feature=exemplar-storage',
    '--log.level=warn',
  ];
}

function prometheusConfig(options: PrometheusOptions): object {
  const interval = `${options.intervalMs ?? defaultIntervalMs}ms`;
  return {
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: interval },
    storage: { exemplars: { max_exemplars: maxExemplars } },
    rule_files: (options.rules ?? []).map((_, index) => `${index}.rules.yml`),
    scrape_configs: (options.scrapeTargets ?? []).map(({ job, addresses, labels = {} }) => ({
      job_name: job,
      static_configs: [{ targets: addresses, labels }],
    })),
  };
}

async function isOk(url: string): Promise<boolean> {
  return fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return response.ok;
    },
    () => false,
  );
}
