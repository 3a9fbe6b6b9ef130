// `npm run up`, `npm run down` and `npm run status`: a local Kubernetes cluster with Sandlot on it.
import { createConsoleProgress, destroyCluster } from '@sandlot/local-cluster';
import { help, parseInvocation } from './arguments.ts';
import type { UpOptions } from './arguments.ts';
import { createNarrator } from './demo/narrate.ts';
import { describeFailure } from './errors.ts';
import { listObservabilityLines } from './observability/look.ts';
import { checkoutRoot } from './paths.ts';
import { measureStartTimes } from './start-times.ts';
import { reportStatus } from './status.ts';
import { listImageLines, listNextSteps } from './summary.ts';
import { up } from './up.ts';

async function runUp(options: UpOptions): Promise<void> {
  const startedMs = performance.now();
  const { target, images, demo, kube, observed } = await up(options, {
    progress: createConsoleProgress(),
    say: createNarrator(),
  });
  const lines = listImageLines(images, await measureStartTimes(target));
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  process.stdout.write(`\nSandlot is up, after ${seconds} s.\n`);
  if (target.kind === 'simulated') process.stdout.write('The nodes are simulated: claims bind, nothing executes.\n');
  if (lines.length > 0) process.stdout.write(`\nImages\n${lines.join('\n')}\n`);
  if (observed) process.stdout.write(`\nLook at it\n${(await listObservabilityLines()).join('\n')}\n`);
  process.stdout.write(`\nTry next\n${(await listNextSteps(target, demo, kube)).join('\n')}\n`);
}

async function main(): Promise<number> {
  const invocation = parseInvocation(process.argv.slice(2));
  switch (invocation.command) {
    case 'help':
      process.stdout.write(help);
      return 0;
    case 'wrong':
      process.stderr.write(`${invocation.problem}\n\n${help}`);
      return 2;
    case 'up':
      await runUp(invocation.options);
      return 0;
    case 'down':
      await destroyCluster({ root: checkoutRoot, progress: createConsoleProgress() });
      return 0;
    case 'status': {
      const { text, healthy } = await reportStatus();
      process.stdout.write(text);
      return healthy ? 0 : 1;
    }
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`\n${describeFailure(error)}\n`);
  process.exitCode = 1;
}
