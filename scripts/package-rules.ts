// What must hold for package.json files and the lock file, so that an install is the same everywhere and
// everything that is shipped may be shipped. Each rule returns violations, one line of text each.

export interface LockedPackage {
  version?: string;
  license?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  optionalDependencies?: Record<string, string>;
}

export interface LockFile {
  packages: Record<string, LockedPackage>;
}

export interface PackageFile {
  path: string;
  content: {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
}

const PERMISSIVE = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
  'Zlib',
]);
/** Packages whose package.json names no licence, and the one that their LICENSE file is. */
const STATED_ELSEWHERE: Readonly<Record<string, string>> = { 'node_modules/dub': 'MIT' };
const EXACT_VERSION = /^\d+\.\d+\.\d+(-[\w.-]+)?$/;

/** A native package for one Linux architecture must be locked for the other too, in the same version. */
export function checkArchitectures(lock: LockFile): string[] {
  return Object.entries(lock.packages).flatMap(([path, { version }]) => {
    const twin = path.includes('linux-x64')
      ? path.replace('linux-x64', 'linux-arm64')
      : path.replace('linux-arm64', 'linux-x64');
    if (twin === path || lock.packages[twin]?.version === version) return [];
    return [`${path} ${version}: ${twin} is not locked in the same version`];
  });
}

/** npm refuses a clean install when an optional package that a locked one names is not in the lock file. */
export function checkLockComplete(lock: LockFile): string[] {
  return Object.entries(lock.packages).flatMap(([path, { optionalDependencies }]) =>
    Object.keys(optionalDependencies ?? {})
      .filter((name) => !findLocked(lock, path, name))
      .map((name) => `${path || 'package.json'}: its optional package ${name} is not in the lock file`),
  );
}

function findLocked(lock: LockFile, from: string, name: string): boolean {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('/node_modules/'), 0))) {
    if (lock.packages[`${folder ? `${folder}/` : ''}node_modules/${name}`]) return true;
    if (folder === '') return false;
  }
}

export function checkNoRegistry(lock: LockFile): string[] {
  return Object.entries(lock.packages)
    .filter(([, { resolved }]) => resolved !== undefined && /^\w+:\/\//.test(resolved))
    .map(([path]) => `${path}: names the address it was fetched from`);
}

export function checkPinned(files: readonly PackageFile[]): string[] {
  return files.flatMap(({ path, content }) =>
    Object.entries({ ...content.dependencies, ...content.devDependencies, ...content.optionalDependencies })
      .filter(([, version]) => !EXACT_VERSION.test(version))
      .map(([name, version]) => `${path}: ${name} is not pinned (${version})`),
  );
}

export function checkLicences(lock: LockFile): string[] {
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link && !entry.dev)
    .filter(([path, { license }]) => !isPermissive(license ?? STATED_ELSEWHERE[path]))
    .map(([path, { license }]) => `${path}: licence ${license ?? 'unknown'} is not on the list`);
}

function isPermissive(expression: string | undefined): boolean {
  if (!expression) return false;
  const plain = expression.replace(/[()]/g, '');
  return plain
    .split(' OR ')
    .some((choice) => choice.split(' AND ').every((part) => PERMISSIVE.has(part.trim())));
}
