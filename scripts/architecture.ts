// The rules of the architecture as functions from sources (or package files) to violations, one line of
// text each. What is allowed comes in as tables; the rules know no folder by name.
import { posix } from 'node:path';
import type { Source, Use } from './source-model.ts';

export type Violations = string[];

/** `*` stands for any characters; everything else is literal. */
type Pattern = string;

export interface Direction {
  from: Pattern;
  to: readonly Pattern[];
  /** Open to imports of types alone, beside `to`. */
  typesTo?: readonly Pattern[];
}

export function matches(path: string, patterns: readonly Pattern[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`).test(path);
  });
}

export function isTest(path: string): boolean {
  return /\.(test|contract|bench)\.ts$/.test(path) || path.startsWith('testing/');
}

/** Imports follow the first line of the table that fits the importing file; its own folder is always open. */
export function checkDirections(sources: readonly Source[], table: readonly Direction[]): Violations {
  return sources.flatMap((source) => {
    if (isTest(source.path)) return [];
    const direction = table.find(({ from }) => matches(source.path, [from]));
    if (!direction) return [`${source.path}: has no line in the table of import directions`];
    return localImports(source).flatMap(({ target, line, isTypeOnly }) => {
      if (isTest(target)) return [`${source.path}:${line}: imports test code (${target})`];
      const open = [...direction.to, ...(isTypeOnly ? (direction.typesTo ?? []) : [])];
      if (isNeighbour(source.path, target) || matches(target, open)) return [];
      return [`${source.path}:${line}: may not import ${target}`];
    });
  });
}

/** What no file may import, whatever the directions allow. */
export function checkForbiddenImports(sources: readonly Source[], table: readonly Direction[]): Violations {
  return sources.flatMap((source) =>
    table
      .filter(({ from }) => !isTest(source.path) && matches(source.path, [from]))
      .flatMap(({ to }) =>
        localImports(source)
          .filter(({ target }) => matches(target, to) && !isNeighbour(source.path, target))
          .map(({ target, line }) => `${source.path}:${line}: may not import ${target}`),
      ),
  );
}

export function checkStores(sources: readonly Source[], compositionRoot: readonly string[]): Violations {
  return sources.flatMap((source) =>
    localImports(source)
      .filter(({ target }) => target.endsWith('.store.ts') && !isNeighbour(source.path, target))
      .filter(() => !compositionRoot.includes(source.path) && !isTest(source.path))
      .map(
        ({ target, line }) =>
          `${source.path}:${line}: ${target} belongs to its own folder and ${compositionRoot.join(', ')}`,
      ),
  );
}

/** A cycle among the modules that are loaded at run time; imports of types alone do not count. */
export function checkCycles(sources: readonly Source[]): Violations {
  const graph = runtimeGraph(sources);
  const done = new Set<string>();
  const found: Violations = [];
  const visit = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push(`import cycle: ${[...trail.slice(start), path].join(' -> ')}`);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

export interface Driver {
  packages: readonly string[];
  /** Without it: one file, wherever it is. */
  within?: readonly Pattern[];
}

export function checkDrivers(sources: readonly Source[], drivers: readonly Driver[]): Violations {
  const production = sources.filter((source) => !isTest(source.path));
  return drivers.flatMap(({ packages, within }) => {
    const users = production.filter((source) => packages.some((name) => importsPackage(source, name)));
    const wrong = within
      ? users.filter((source) => !matches(source.path, within))
      : users.length > 1
        ? users
        : [];
    const place = within ? within.join(', ') : 'one file';
    return wrong.map((source) => `${source.path}: ${packages.join(', ')} may be imported in ${place} only`);
  });
}

export interface UseRule {
  uses: readonly string[];
  allowedIn: readonly Pattern[];
}

/** `*` at the end of a use stands for any ending, so `crypto.random*` covers the whole family. */
export function checkUses(sources: readonly Source[], rules: readonly UseRule[]): Violations {
  const broken = (source: Source, use: Use): boolean =>
    rules.some((rule) => matches(use.name, rule.uses) && !matches(source.path, rule.allowedIn));
  return sources.flatMap((source) =>
    source.uses
      .filter((use) => broken(source, use))
      .map((use) => `${source.path}:${use.line}: uses ${use.name}`),
  );
}

export interface ReachRule {
  from: Pattern;
  packages: readonly string[];
}

/** Follows run-time imports to the end: the packages must not be loaded by any of them. */
export function checkReach(sources: readonly Source[], rules: readonly ReachRule[]): Violations {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const graph = runtimeGraph(sources);
  return rules.flatMap(({ from, packages }) =>
    sources
      .filter((source) => matches(source.path, [from]) && !isTest(source.path))
      .flatMap((source) =>
        reachableFrom(graph, source.path).flatMap((path) =>
          packages
            .filter((name) => importsPackage(byPath.get(path), name, 'runtime'))
            .map((name) => `${source.path}: reaches ${name} through ${path}`),
        ),
      ),
  );
}

const BANNED_NAMES = /^(utils?|helpers?|misc|common|types|index)$/;
const FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*(\.(api|store|contract|bench))?(\.test)?\.ts$/;

export function checkNames(paths: readonly string[]): Violations {
  return paths.flatMap((path) => {
    const bad = path.split('/').find((part) => BANNED_NAMES.test(part.split('.')[0] ?? ''));
    if (bad) return [`${path}: "${bad}" says nothing about what is inside`];
    if (!FILE_NAME.test(posix.basename(path)))
      return [`${path}: kebab-case, roles .api .store .contract .bench .test`];
    return [];
  });
}

export function checkNoDefaultExports(sources: readonly Source[]): Violations {
  return sources
    .filter((source) => source.hasDefaultExport)
    .map((source) => `${source.path}: has a default export`);
}

export function checkSyntax(sources: readonly Source[]): Violations {
  return sources.flatMap((source) => source.syntaxErrors.map((message) => `${source.path}: ${message}`));
}

export function checkWords(
  files: readonly { path: string; text: string }[],
  words: readonly RegExp[],
): Violations {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => {
      const word = words.map((pattern) => pattern.exec(line)?.[0]).find((found) => found !== undefined);
      return word === undefined ? [] : [`${path}:${i + 1}: mentions ${word}`];
    }),
  );
}

interface LocalImport {
  target: string;
  line: number;
  isTypeOnly: boolean;
}

function localImports(source: Source): LocalImport[] {
  return source.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier, line, isTypeOnly }) => ({
      target: posix.join(posix.dirname(source.path), specifier),
      line,
      isTypeOnly,
    }));
}

// The root is a list of special modules, not a folder whose files belong together. A sub-folder (migrations,
// say) belongs to the folder above it.
function isNeighbour(path: string, target: string): boolean {
  const [folder, ...rest] = path.split('/');
  return rest.length > 0 && target.startsWith(`${folder}/`);
}

function importsPackage(source: Source | undefined, name: string, kind: 'any' | 'runtime' = 'any'): boolean {
  return (source?.imports ?? []).some(
    ({ specifier, isTypeOnly }) =>
      (specifier === name || specifier.startsWith(`${name}/`)) && !(kind === 'runtime' && isTypeOnly),
  );
}

function runtimeGraph(sources: readonly Source[]): Map<string, string[]> {
  return new Map(
    sources.map((source) => [
      source.path,
      localImports(source)
        .filter(({ isTypeOnly }) => !isTypeOnly)
        .map(({ target }) => target),
    ]),
  );
}

function reachableFrom(graph: ReadonlyMap<string, string[]>, start: string): string[] {
  const seen = new Set([start]);
  for (const path of seen) for (const next of graph.get(path) ?? []) seen.add(next);
  return [...seen];
}
