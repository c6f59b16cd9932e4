// What the architecture test and the size report know about a source file: its imports, its functions and
// the few expressions that rules speak about. Hides the parser.
import { parseSync, visitorKeys } from 'oxc-parser';

export interface SourceText {
  path: string;
  text: string;
}

export interface Import {
  specifier: string;
  /** Erased before the program runs. `import { type X }` is not: the module is still loaded. */
  isTypeOnly: boolean;
  line: number;
}

/** An expression some rule may forbid, under one canonical name: `process.env`, `new Date()`, `any`. */
export interface Use {
  name: string;
  line: number;
}

export interface FunctionSize {
  name: string;
  line: number;
  lines: number;
  parameters: number;
}

export interface Source {
  path: string;
  lines: number;
  imports: Import[];
  uses: Use[];
  functions: FunctionSize[];
  hasDefaultExport: boolean;
  syntaxErrors: string[];
}

// The parser's own node types are a large union; rules need only these fields.
interface AstNode {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

const MEMBER_USES = new Set([
  'process.env',
  'Date.now',
  'Math.random',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'crypto.randomBytes',
  'crypto.randomInt',
]);
const RANDOM_IMPORT = /^(random|getRandomValues|webcrypto)/;

export function parseSource({ path, text }: SourceText): Source {
  const { program, errors } = parseSync(path, text);
  const lineAt = createLineIndex(text);
  const source: Source = {
    path,
    lines: text.split('\n').length - (text.endsWith('\n') ? 1 : 0),
    imports: [],
    uses: [],
    functions: [],
    hasDefaultExport: false,
    syntaxErrors: errors.map((error) => error.message),
  };
  walk(asNode(program), undefined, (node, parent) => {
    const line = lineAt(node.start);
    source.imports.push(...readImport(node, line));
    source.uses.push(...readUses(node, parent).map((name) => ({ name, line })));
    const size = readFunction(node, parent, lineAt);
    if (size) source.functions.push(size);
    if (isDefaultExport(node)) source.hasDefaultExport = true;
  });
  return source;
}

function asNode(value: object): AstNode {
  return value as AstNode;
}

function walk(
  node: AstNode,
  parent: AstNode | undefined,
  visit: (node: AstNode, parent: AstNode | undefined) => void,
): void {
  visit(node, parent);
  for (const key of visitorKeys[node.type] ?? []) {
    for (const child of [node[key]].flat()) {
      if (child !== null && typeof child === 'object') walk(asNode(child), node, visit);
    }
  }
}

function createLineIndex(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}

function readImport(node: AstNode, line: number): Import[] {
  const from = (module: unknown, isTypeOnly: boolean): Import[] => {
    const specifier = literal(module);
    return specifier === undefined ? [] : [{ specifier, isTypeOnly, line }];
  };
  switch (node.type) {
    case 'ImportDeclaration':
      return from(node.source, node.importKind === 'type');
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
      return from(node.source, node.exportKind === 'type');
    case 'ImportExpression':
      return from(node.source, false);
    case 'TSImportType':
      return from(node.source ?? node.argument, true);
    default:
      return [];
  }
}

function readUses(node: AstNode, parent: AstNode | undefined): string[] {
  switch (node.type) {
    case 'MemberExpression':
      return readMember(node);
    case 'Identifier':
      return node.name === 'console' && parent?.key !== node ? ['console'] : [];
    case 'TSAnyKeyword':
      return ['any'];
    case 'NewExpression':
      return isIdentifier(node.callee, 'Date') && [node.arguments].flat().length === 0 ? ['new Date()'] : [];
    case 'CallExpression':
      return isIdentifier(node.callee, 'Date') ? ['new Date()'] : [];
    case 'VariableDeclarator':
      return isIdentifier(node.init, 'process') && hasKey(node.id, 'env') ? ['process.env'] : [];
    case 'ImportDeclaration':
      return readImportedUses(node);
    default:
      return [];
  }
}

function readMember(node: AstNode): string[] {
  const object = node.object as AstNode;
  const owner = object.type === 'MemberExpression' ? propertyName(object) : nameOf(object);
  const name = `${owner}.${propertyName(node)}`;
  return MEMBER_USES.has(name) ? [name] : [];
}

function readImportedUses(node: AstNode): string[] {
  const module = literal(node.source)?.replace(/^node:/, '');
  const names = [node.specifiers].flat().map((specifier) => nameOf((specifier as AstNode).imported));
  if (module === 'process' && names.includes('env')) return ['process.env'];
  if (module === 'crypto')
    return names.filter((name) => RANDOM_IMPORT.test(name)).map((name) => `crypto.${name}`);
  return [];
}

function readFunction(
  node: AstNode,
  parent: AstNode | undefined,
  lineAt: (offset: number) => number,
): FunctionSize | undefined {
  if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return undefined;
  const line = lineAt(node.start);
  const name = nameOf(node.id) || nameOf(parent?.id) || nameOf(parent?.key) || 'anonymous';
  const parameters = [node.params].flat().length;
  return { name, line, lines: lineAt(node.end - 1) - line + 1, parameters };
}

function isDefaultExport(node: AstNode): boolean {
  if (node.type === 'ExportDefaultDeclaration') return true;
  return node.type === 'ExportSpecifier' && nameOf(node.exported) === 'default';
}

function hasKey(pattern: unknown, key: string): boolean {
  const { type, properties } = pattern as AstNode;
  return (
    type === 'ObjectPattern' &&
    [properties].flat().some((property) => nameOf((property as AstNode).key) === key)
  );
}

function propertyName(member: AstNode): string {
  return member.computed ? (literal(member.property) ?? '') : nameOf(member.property);
}

function isIdentifier(node: unknown, name: string): boolean {
  return nameOf(node) === name && (node as AstNode).type === 'Identifier';
}

function nameOf(node: unknown): string {
  const name = (node as AstNode | null | undefined)?.name;
  return typeof name === 'string' ? name : '';
}

function literal(node: unknown): string | undefined {
  const value = (node as AstNode | null | undefined)?.value;
  return typeof value === 'string' ? value : undefined;
}
