/** A script as users write it, whose third call fails. It prints what the client threw. */
import { Template } from 'e2b';

const template = Template()
  .fromBaseImage()
  .runCmd('true')
  .runCmd('echo second')
  .runCmd('echo why >&2; exit 7')
  .runCmd('echo fourth');

try {
  await Template.build(template, process.argv[2] ?? '');
} catch (error) {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  process.stdout.write(JSON.stringify({ name, message, stack }));
}
