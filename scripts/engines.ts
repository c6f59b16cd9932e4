// The engines that tests use but npm cannot bring. Each is named by an environment variable; without it
// the tests of that engine skip themselves, and the runner says so.

export interface Engine {
  name: string;
  variable: string;
  example: string;
}

export interface MissingEngine {
  name: string;
  reason: string;
}

export const ENGINES: readonly Engine[] = [
  {
    name: 'PostgreSQL',
    variable: 'LINKTRAIL_TEST_POSTGRES',
    example: 'postgres://user@127.0.0.1:5432/database',
  },
  {
    name: 'ClickHouse',
    variable: 'LINKTRAIL_TEST_CLICKHOUSE',
    example: 'http://127.0.0.1:8123',
  },
];

export function listMissingEngines(env: Record<string, string | undefined>): MissingEngine[] {
  return ENGINES.filter((engine) => !env[engine.variable]).map((engine) => ({
    name: engine.name,
    reason: `${engine.variable} is not set (for example ${engine.example})`,
  }));
}
