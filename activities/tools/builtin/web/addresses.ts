// Which hosts a page may be fetched from (L86). The address is judged where it is connected to: a name that leads elsewhere at the second
// look, as one under an attacker's hand does, leads nowhere.
import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { globMatcher } from '../search/glob-match.ts';

/** Of IPv4, all that is not the public internet. */
const SPECIAL: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // What every machine in Azure asks its host by.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];

/** Of IPv6, global unicast is public, but for examples and for what wraps an address of IPv4. */
const WRAPPED: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL) special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of WRAPPED) special.addSubnet(network, prefix, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Anything but an address of the public internet: this machine, its network, a cloud's metadata. */
export function isPrivate(address: string): boolean {
  // A zone belongs to a network of this machine.
  if (address.includes('%')) return true;
  if (isIPv6(address)) return !globalUnicast.check(address, 'ipv6') || special.check(address, 'ipv6');
  return isIP(address) === 0 || special.check(address, 'ipv4');
}

export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
}

/** The host that rules and lists are held against: no brackets, no dot at its end. `URL` has made it small, and one address of each spelling. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[/, '').replace(/\]$/, '').replace(/\.$/, '');
}

/** Whether a host is on a list of names, where `*` stands for any characters. */
export function isHostListed(list: readonly string[], host: string): boolean {
  return list.some((pattern) => globMatcher(pattern.toLowerCase())(host));
}

/** Throws PrivateAddress for a host that is written as such an address: nothing is looked up for it. */
export function refusePrivate(host: string): void {
  if (isIP(host) !== 0 && isPrivate(host)) throw new PrivateAddress(`${host} is no address of the public internet`);
}

/** Looks a name up for a connection, which is made to what this answers and to nothing else. */
export function publicLookup(resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses: readonly LookupAddress[]) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new Error(`${hostname} has no address`), '');
      const found = addresses.find(({ address }) => isPrivate(address));
      if (found) {
        const said = `${hostname} leads to ${found.address}, which is no address of the public internet`;
        return done(new PrivateAddress(said), '');
      }
      return options.all === true ? done(null, [...addresses]) : done(null, first.address, first.family);
    });
  };
}
