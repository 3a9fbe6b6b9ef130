import type { Item, Table } from '../../model.ts';

const EXISTS = ['e2e/src/sdk/lifecycle.test.ts', 'Template.exists tells which templates a tenant may use'] as const;
const BUILD = 'there are no builds of templates';
const TAGS = 'there are no tags';
const VOLUMES = 'there are no volumes';
const SECRETS = 'there are no secrets';

/** What a build is described by. */
const STEPS = [
  'fromDebianImage',
  'fromUbuntuImage',
  'fromFedoraImage',
  'fromAlpineImage',
  'fromArchImage',
  'fromPythonImage',
  'fromNodeImage',
  'fromBunImage',
  'fromBaseImage',
  'fromImage',
  'fromTemplate',
  'fromDockerfile',
  'fromAWSRegistry',
  'fromGCPRegistry',
  'copy',
  'copyItems',
  'remove',
  'rename',
  'makeDir',
  'makeSymlink',
  'runCmd',
  'setWorkdir',
  'setUser',
  'pipInstall',
  'npmInstall',
  'bunInstall',
  'aptInstall',
  'addMcpServer',
  'gitClone',
  'setStartCmd',
  'setReadyCmd',
  'setEnvs',
  'skipCache',
  'betaDevContainerPrebuild',
  'betaSetDevContainerStart',
];

export const templateMethods: Table = {
  title: 'Methods for templates',
  what: 'method',
  items: [
    ['Template.exists', 'yes', EXISTS],
    ['Template.aliasExists', 'yes', EXISTS],
    ['Template.build', 'no', BUILD],
    ['Template.buildInBackground', 'no', BUILD],
    ['Template.getBuildStatus', 'no', BUILD],
    ['Template.assignTags', 'no', TAGS],
    ['Template.removeTags', 'no', TAGS],
    ['Template.getTags', 'no', TAGS],
    ['Template.toJSON', 'no', BUILD],
    ['Template.toDockerfile', 'no', BUILD],
    ...STEPS.map((step): Item => [`Template.${step}`, 'no', BUILD]),
  ],
};

export const otherMethods: Table = {
  title: 'Methods for volumes and secrets',
  what: 'method',
  items: [
    ['Volume.create', 'no', VOLUMES],
    ['Volume.connect', 'no', VOLUMES],
    ['Volume.getInfo', 'no', VOLUMES],
    ['Volume.list', 'no', VOLUMES],
    ['Volume.destroy', 'no', VOLUMES],
    ['Volume.makeDir', 'no', VOLUMES],
    ['Volume.exists', 'no', VOLUMES],
    ['Volume.updateMetadata', 'no', VOLUMES],
    ['Volume.readFile', 'no', VOLUMES],
    ['Volume.writeFile', 'no', VOLUMES],
    ['Volume.remove', 'no', VOLUMES],
    ['Secret.create', 'no', SECRETS],
    ['Secret.update', 'no', SECRETS],
    ['Secret.getInfo', 'no', SECRETS],
    ['Secret.list', 'no', SECRETS],
    ['Secret.exists', 'no', SECRETS],
    ['Secret.destroy', 'no', SECRETS],
    ['Secret.fill', 'no', SECRETS],
    ['Secret.iamToken', 'no', SECRETS],
  ],
};
