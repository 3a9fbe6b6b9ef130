import { sandboxTemplateBuilds } from '@sandlot/api-types';
import type { SandboxTemplateBuild } from '@sandlot/api-types';
import { createKubeClient, loadCredentials } from '@sandlot/kube';
import type { KubeClient } from '@sandlot/kube';
import { Template } from 'e2b';
import type { TemplateBuilder } from 'e2b';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Templates } from '../../support/builds/templates.ts';
import { TENANT } from '../../support/sdk/objects.ts';

const stack = new AsyncDisposableStack();
let templates: Templates;
let client: KubeClient;
let name: string;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('tags'));
  client = createKubeClient({ credentials: await loadCredentials({ kubeconfig: inject('kubeconfigPath') }) });
  stack.defer(() => client.close());
  name = templates.name('tagged');
  await Promise.all(['v1', 'v2'].map((tag) => templates.build(saying(tag), `${name}:${tag}`)));
});
afterAll(() => stack.disposeAsync());

/** A template with a word in a file. */
const saying = (word: string): TemplateBuilder =>
  Template().fromBaseImage().runCmd(`echo ${word} > /home/user/word`).setWorkdir('/home/user');

async function readWord(reference: string): Promise<string> {
  const sandbox = await templates.open(reference);
  try {
    return await sandbox.files.read('/home/user/word');
  } finally {
    await sandbox.kill();
  }
}

describe('tags of a template', () => {
  it('name the build that sandboxes come from', async () => {
    expect(await Promise.all([readWord(`${name}:v1`), readWord(`${name}:v2`)])).toEqual(['v1\n', 'v2\n']);
    await expect(templates.open(`${name}:v3`)).rejects.toThrow(/v3/);
  });

  it('are assigned, moved and removed', async () => {
    const assigned = await Template.assignTags(`${name}:v1`, ['stable', 'old'], templates.access);
    expect(assigned.tags.toSorted()).toEqual(['old', 'stable']);
    expect(await readWord(`${name}:stable`)).toBe('v1\n');
    await Template.assignTags(`${name}:v2`, 'stable', templates.access);
    expect(await readWord(`${name}:stable`)).toBe('v2\n');
    const tags = await Template.getTags(name, templates.access);
    expect(tags.map(({ tag }) => tag).toSorted()).toEqual(expect.arrayContaining(['old', 'stable', 'v1', 'v2']));
    await Template.removeTags(name, ['stable', 'old'], templates.access);
    await expect(templates.open(`${name}:stable`)).rejects.toThrow(/stable/);
    expect(await readWord(`${name}:v2`)).toBe('v2\n');
  });

  it('can be built on: another template begins with the files of a tag', async () => {
    const child = templates.name('child');
    await templates.build(
      Template().fromTemplate(`${name}:v2`).runCmd('cp word copied; id -un > who; pwd > where'),
      child,
    );
    const sandbox = await templates.open(child);
    const { stdout } = await sandbox.commands.run('cat word copied who where');
    expect(stdout).toBe('v2\nv2\nuser\n/home/user\n');
    await expect(
      templates.build(Template().fromTemplate(`${name}-no`).runCmd('true'), templates.name('orphan')),
    ).rejects.toThrow(/template '.*' not found/);
  });
});

describe('two builds of one name at once', () => {
  it('end in one template and one build that was superseded', async () => {
    const raced = templates.name('raced');
    const slow = (word: string) => Template().fromBaseImage().runCmd(`sleep 5; echo ${word} > /home/user/word`);
    const ends = await Promise.allSettled(['one', 'two'].map((word) => templates.build(slow(word), raced)));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const winner = ends.findIndex(({ status }) => status === 'fulfilled');
    expect(await readWord(raced)).toBe(['one\n', 'two\n'][winner]);
    const [ended] = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    const reasons = (await listBuildsOf(ended?.info.templateId ?? '')).map(getReason);
    expect(reasons.toSorted()).toEqual(['Built', 'Superseded']);
  });
});

const getReason = ({ status }: SandboxTemplateBuild): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.reason;

/** The builds that make the SandboxTemplate with the name of the template's id. */
async function listBuildsOf(templateId: string): Promise<SandboxTemplateBuild[]> {
  const { items } = await client.list(sandboxTemplateBuilds, { namespace: TENANT });
  return items.filter(({ spec }) => spec.templates.some(({ name: made }) => made === templateId));
}
