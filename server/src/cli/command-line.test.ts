// How words become a command and its input, or a clear refusal.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseCommandLine, UsageError, wantsJson } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, describeCommands, listHelp } from './help.ts';
import { localCommands } from './local-commands.ts';

const ALL = [...localCommands, ...COMMANDS];

const read = (line: string) => parseCommandLine(line.split(' ').filter(Boolean), ALL);

describe('a command line that fits', () => {
  const table: readonly [string, string, object][] = [
    ['version', 'version', {}],
    ['--version', 'version', {}],
    ['-v', 'version', {}],
    ['version --json', 'version', {}],
    ['--json workspace list', 'workspace list', {}],
    ['workspace create Acme', 'workspace create', { name: 'Acme' }],
    [
      'workspace create --plan pro Acme --slug=acme',
      'workspace create',
      { name: 'Acme', plan: 'pro', slug: 'acme' },
    ],
    ['workspace create -- --odd', 'workspace create', { name: '--odd' }],
    ['workspace set-plan acme free', 'workspace set-plan', { workspace: 'acme', plan: 'free' }],
    [
      'workspace set-limit acme links 5',
      'workspace set-limit',
      { workspace: 'acme', limit: 'links', number: '5' },
    ],
    [
      'workspace set-limit acme links none',
      'workspace set-limit',
      { workspace: 'acme', limit: 'links', number: 'none' },
    ],
    ['key create acme --machine', 'key create', { workspace: 'acme', machine: true }],
    [
      'key create acme --scopes links.read,tags.write',
      'key create',
      { workspace: 'acme', scopes: 'links.read,tags.write' },
    ],
    ['key create acme --expires 30d', 'key create', { workspace: 'acme', expires: '30d' }],
    ['key create acme --expires 2030-01-31', 'key create', { workspace: 'acme', expires: '2030-01-31' }],
    [
      'key create acme --expires 2030-01-31T00:00:00+02:00',
      'key create',
      { workspace: 'acme', expires: '2030-01-31T00:00:00+02:00' },
    ],
    ['key revoke acme tok_1', 'key revoke', { workspace: 'acme', key: 'tok_1' }],
  ];
  for (const [line, path, input] of table) {
    test(`"${line}" runs ${path}`, () => {
      const result = read(line);
      assert.equal(result.kind, 'run');
      assert.equal(result.command?.path.join(' '), path);
      assert.deepEqual({ ...(result.kind === 'run' ? result.input : {}) }, input);
    });
  }
});

describe('a command line that asks for help', () => {
  const table: readonly [string, string, string | undefined][] = [
    ['', '', undefined],
    ['--help', '', undefined],
    ['help', '', undefined],
    ['help --json', '', undefined],
    ['workspace --help', 'workspace', undefined],
    ['help workspace', 'workspace', undefined],
    ['workspace create --help', 'workspace create', 'workspace create'],
    ['help key create', 'key create', 'key create'],
    ['-h doctor', 'doctor', 'doctor'],
    ['key create -h', 'key create', 'key create'],
  ];
  for (const [line, words, path] of table) {
    test(`"${line}" explains ${words || 'everything'}`, () => {
      const result = read(line);
      assert.equal(result.kind, 'help');
      assert.equal(result.kind === 'help' && result.words.join(' '), words);
      assert.equal(result.command?.path.join(' '), path);
    });
  }
});

describe('a command line that does not fit is refused', () => {
  const table: readonly [string, RegExp][] = [
    ['frobnicate', /There is no command frobnicate\./],
    ['help frobnicate', /There is no command frobnicate\./],
    ['--frobnicate', /There is no option --frobnicate\./],
    ['workspace', /workspace needs a command: there are create, list, set-plan, set-limit\./],
    ['workspace frobnicate', /There is no command workspace frobnicate: there are create/],
    ['version --frobnicate', /Unknown option '--frobnicate'\.$/],
    ['version now', /"now" is one argument too many\./],
    ['workspace create', /workspace create needs <name>\./],
    ['workspace create a --plan', /--plan.* argument missing\.$/],
    ['workspace create a --plan gold', /--plan: takes one of free, pro, business, advanced, enterprise/],
    ['workspace set-plan acme gold', /<plan>: takes one of free/],
    ['workspace set-limit acme wheels 3', /<limit>: takes one of links, events, .*analyticsPerSecond/],
    ['workspace set-limit acme links many', /<number>: takes a whole number, or none/],
    ['workspace set-limit acme links 1.5', /<number>: takes a whole number, or none/],
    ['workspace set-limit acme links 9999999999', /<number>: is at most 1000000000/],
    ['workspace set-limit acme links -5', /Unknown option '-5'/],
    ['key create acme --scopes links.read,links.fly', /--scopes: takes some of links\.read/],
    ['key create acme --expires soon', /--expires: takes a date such as/],
    ['key create acme --expires 0d', /--expires: takes a date such as/],
    ['key create acme --expires 2030-02-30', /--expires: takes a date such as/],
    ['key create acme --machine=yes', /--machine/],
  ];
  for (const [line, message] of table) {
    test(`"${line}"`, () => {
      assert.throws(
        () => read(line),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          assert.match(error.usage, /^Usage: linktrail /);
          return true;
        },
      );
    });
  }
});

test('--json counts as the option only before --', () => {
  assert.equal(wantsJson(['workspace', 'list', '--json']), true);
  assert.equal(wantsJson(['workspace', 'create', '--', '--json']), false);
  assert.equal(wantsJson([]), false);
});

describe('the help', () => {
  test('names every command for people, and none that is for other commands', () => {
    const text = listHelp(ALL);
    for (const { path, isInternal } of ALL)
      assert.equal(text.includes(`\n  ${path.join(' ')} `), !isInternal, path.join(' '));
    assert.deepEqual(
      describeCommands(ALL).map(({ command }) => command),
      ALL.filter(({ isInternal }) => !isInternal).map(({ path }) => path.join(' ')),
    );
  });

  test('of a command names all its arguments and options', () => {
    for (const command of ALL) {
      const text = commandHelp(command);
      for (const name of Object.keys(command.args)) assert.ok(text.includes(`  <${name}> `), name);
      for (const name of Object.keys(command.options)) assert.ok(text.includes(`  --${name} `), name);
    }
  });

  test('fits a terminal of 110 columns', () => {
    for (const text of [listHelp(ALL), ...ALL.map((command) => commandHelp(command))]) {
      assert.deepEqual(
        text.split('\n').filter((line) => line.length > 110),
        [],
      );
    }
  });
});
