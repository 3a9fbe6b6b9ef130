// The tag of an image of a build says which installation made it, and for which build: `<installation>-<UID of the build>`.

/** The tag under which the image of a build goes to the registry. */
export function formatImageTag(installation: string, build: string): string {
  return `${installation}-${build}`;
}

/** UID of the build whose image has the tag. Undefined: another installation made it, or none that says so. */
export function findBuildOfTag(tag: string, installation: string): string | undefined {
  const prefix = `${installation}-`;
  const build = tag.slice(prefix.length);
  return tag.startsWith(prefix) && UID.test(build) ? build : undefined;
}

const UID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
