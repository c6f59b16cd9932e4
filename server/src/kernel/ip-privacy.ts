// What is kept of a visitor's address, by the choice of the workspace whose link was visited.
import { truncateAddress } from './ip-address.ts';

/**
 * Standard: nothing of visitors from the European Union and the United Kingdom, the whole address of others. Truncate:
 * the network only, of everybody.
 */
export const IP_PRIVACY = ['standard', 'keep', 'truncate', 'drop'] as const;
export type IpPrivacy = (typeof IP_PRIVACY)[number];

/** `isProtected`: the visitor's country is one of those whose addresses are not kept by default. */
export function keptAddress(address: string, privacy: IpPrivacy, isProtected: boolean): string {
  if (privacy === 'keep') return address;
  if (privacy === 'truncate') return truncateAddress(address);
  return privacy === 'drop' || isProtected ? '' : address;
}

/** Some destinations are given the visitor's address as a parameter: it is replaced by what is kept of it. */
export function keepInDestination(url: string, address: string, kept: string): string {
  const parameter = encodeURIComponent(address);
  if (address === '' || kept === address || !url.includes(parameter)) return url;
  return url
    .split(/(?=[?&#])/)
    .map((part) =>
      part.endsWith(`=${parameter}`) ? part.slice(0, -parameter.length) + encodeURIComponent(kept) : part,
    )
    .join('');
}
