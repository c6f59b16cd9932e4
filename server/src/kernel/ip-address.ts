// IP addresses: which belong to the public Internet, and which come from the same client. All but the public
// ones (loopback, private, link-local, carrier, documentation, multicast, and forms that hide one of these)
// are closed to the server's own requests unless an operator opened them.
import { BlockList, isIPv4, isIPv6 } from 'node:net';

const CLOSED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Of IPv6 only this part is handed out at all … */
const OPEN_IPV6 = ['2000::/3'];
/** … less protocol assignments (Teredo, benchmarks and the like) and documentation. */
const CLOSED_IPV6 = ['2001::/23', '2001:db8::/32', '3fff::/20'];

export type AddressRule = (address: string) => boolean;

/** Says whether a connection to an address is allowed; text that is no address is refused. */
export function createAddressRule(allowPrivate: readonly string[]): AddressRule {
  const allowed = blockList(allowPrivate);
  const closed = blockList([...CLOSED_IPV4, ...CLOSED_IPV6]);
  const open = blockList(OPEN_IPV6);

  const mayReach4 = (address: string) => allowed.check(address, 'ipv4') || !closed.check(address, 'ipv4');
  const mayReach6 = (address: string) => {
    const inner = innerIPv4(address);
    if (inner !== undefined) return allowed.check(address, 'ipv6') || mayReach4(inner);
    return allowed.check(address, 'ipv6') || (open.check(address, 'ipv6') && !closed.check(address, 'ipv6'));
  };

  return (address) => {
    if (isIPv4(address)) return mayReach4(address);
    return isIPv6(address) && !address.includes('%') && mayReach6(address);
  };
}

function blockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', prefix] = block.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, prefix === undefined ? (family === 'ipv4' ? 32 : 128) : Number(prefix), family);
  }
  return list;
}

/** The IPv4 address that an IPv4-mapped, NAT64 or 6to4 address stands for: it is the one that gets the packets. */
function innerIPv4(address: string): string | undefined {
  const groups = groupsOf(address);
  const starts = (...prefix: number[]) => prefix.every((value, i) => groups[i] === value);
  if (starts(0, 0, 0, 0, 0, 0xffff) || starts(0x64, 0xff9b, 0, 0, 0, 0)) return dotted(groups[6], groups[7]);
  if (starts(0x2002)) return dotted(groups[1], groups[2]);
  return undefined;
}

/** Without the part that tells neighbours apart: 24 bits of IPv4 stay, 48 of IPv6. Empty for what is no address. */
export function truncateAddress(address: string): string {
  const dottedForm = isIPv6(address) ? innerIPv4(address) : address;
  if (dottedForm !== undefined) return isIPv4(dottedForm) ? dottedForm.replace(/\d+$/, '0') : '';
  const groups = groupsOf(address).slice(0, 3);
  while (groups.at(-1) === 0) groups.pop();
  return `${groups.map((group) => group.toString(16)).join(':')}::`;
}

/** What one client has to itself: an IPv4 address, or the 64 bits that an IPv6 network shares. */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const inner = innerIPv4(address);
  return (
    inner ??
    `${groupsOf(address)
      .slice(0, 4)
      .map((group) => group.toString(16))
      .join(':')}::/64`
  );
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  const tail = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const hex = tail ? address.slice(0, tail.index) + hexOf(tail.slice(1).map(Number)) : address;
  const [head = '', rest] = hex.split('::');
  const before = numbers(head);
  const after = rest === undefined ? [] : numbers(rest);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function hexOf([a = 0, b = 0, c = 0, d = 0]: number[]): string {
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function numbers(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
