// The system's name servers, asked with a time-out.
import { Resolver } from 'node:dns/promises';
import type { DnsAnswer, DnsLookup } from './verify.ts';

export interface DnsOptions {
  readonly timeoutMs: number;
  /** Instead of the system's, such as `127.0.0.1:5353`. */
  readonly servers?: readonly string[];
}

export function createDnsLookup({ timeoutMs, servers }: DnsOptions): DnsLookup {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
  if (servers) resolver.setServers(servers);

  async function ask(type: Parameters<DnsLookup>[0], name: string): Promise<string[]> {
    if (type === 'TXT') return (await resolver.resolveTxt(name)).map((parts) => parts.join(''));
    if (type === 'CNAME') return resolver.resolveCname(name);
    return type === 'A' ? resolver.resolve4(name) : resolver.resolve6(name);
  }

  return async (type, name): Promise<DnsAnswer> => {
    try {
      return await ask(type, name);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENODATA') return [];
      if (code === 'ENOTFOUND') return 'no-name';
      throw error;
    }
  };
}
