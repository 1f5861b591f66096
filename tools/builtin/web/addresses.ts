// Judges which hosts a page may be fetched from (L86). The address that is judged is the one that
// is connected to, so a name that an attacker resolves differently the second time gains nothing.
import { lookup, type LookupAddress } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { createGlobMatcher } from '../search/glob-match.ts';

/** The networks of IPv4 that are not the public internet. */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Every machine in Azure asks its host by this address.
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

/**
 * The parts of IPv6 global unicast that are not public: documentation, and embedded IPv4 addresses.
 */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL_IPV4) special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/**
 * Tells whether an address is outside the public internet: this machine, its network, a cloud's
 * metadata service. Also true of a text that is no IP address.
 */
export function isNotPublic(address: string): boolean {
  // A zone belongs to a network of this machine.
  if (address.includes('%')) return true;
  const inside = unwrapNat64(address);
  if (inside !== null) return isNotPublic(inside);
  if (isIPv6(address)) return !globalUnicast.check(address, 'ipv6') || special.check(address, 'ipv6');
  return isIP(address) === 0 || special.check(address, 'ipv4');
}

const nat64 = toRanges(['64:ff9b::/96']);

/**
 * Returns the IPv4 address in the last 32 bits, which a network without IPv4 reaches by this
 * prefix.
 */
function unwrapNat64(address: string): string | null {
  if (!isIn(nat64, address)) return null;
  // The address is written shortest: the last two groups, fewer where they are zero.
  const { hostname } = new URL(`http://[${address}]`);
  const groups = hostname.slice('[64:ff9b::'.length, -1).split(':');
  const [low = 0, high = 0] = groups.toReversed().map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Reads ranges such as `198.18.0.0/15`. */
export function toRanges(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/');
    list.addSubnet(network, Number(prefix), isIPv6(network) ? 'ipv6' : 'ipv4');
  }
  return list;
}

function isIn(ranges: BlockList, address: string): boolean {
  return isIP(address) !== 0 && ranges.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * The range of fake addresses from which a tunnel on this machine answers every name, when its far
 * end is what looks names up.
 */
const USUAL_FAKE = '198.18.0.0/15';
const usualFake = toRanges([USUAL_FAKE]);

/** Names outside the public internet: a lookup finds something in the local network. */
const LOCAL_NAME = /^[^.:]+$|\.(?:localhost|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
}

/**
 * Returns the host that rules and lists are held against: no brackets, no dot at its end. `URL` has
 * made it lower case, with one spelling for each address.
 */
export function toHost(url: URL): string {
  return url.hostname.replace(/^\[/, '').replace(/\]$/, '').replace(/\.$/, '');
}

/** Tells whether a host is on a list of names, where `*` stands for any characters. */
export function isHostListed(list: readonly string[], host: string): boolean {
  return list.some((pattern) => createGlobMatcher(pattern.toLowerCase())(host));
}

/**
 * Throws PrivateAddress for a host that is itself a private IP address. Looks up no names.
 */
export function refusePrivate(host: string): void {
  if (isIP(host) !== 0 && isNotPublic(host)) throw new PrivateAddress(`${host} is no address of the public internet`);
}

export type LookupOptions = {
  /** Absent: the system's lookup. */
  readonly resolve?: typeof lookup | undefined;
  /** The private ranges that names may lead to. */
  readonly fakeIps?: BlockList | undefined;
};

/** Makes a lookup for a connection, which is made to its answer and to nothing else. */
export function createPublicLookup({ resolve = lookup, fakeIps = toRanges([]) }: LookupOptions = {}): LookupFunction {
  const isRefused = (hostname: string, address: string): boolean =>
    isNotPublic(address) && (LOCAL_NAME.test(hostname) || !isIn(fakeIps, address));
  return (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses: readonly LookupAddress[]) => {
      const [first] = addresses ?? [];
      if (error || !first) return done(error ?? new Error(`${hostname} has no address`), '');
      const found = addresses.find(({ address }) => isRefused(hostname, address));
      if (found) return done(privateAddressError(hostname, found.address), '');
      return options.all === true ? done(null, [...addresses]) : done(null, first.address, first.family);
    });
  };
}

function privateAddressError(hostname: string, address: string): PrivateAddress {
  const sentence = `${hostname} leads to ${address}, which is no address of the public internet`;
  if (!isIn(usualFake, address)) return new PrivateAddress(sentence);
  const setting = `"webFetch.fakeIpRanges": ["${USUAL_FAKE}"]`;
  return new PrivateAddress(`${sentence} (where a tunnel on this machine answers every name so, ${setting} says it)`);
}

/**
 * Refuses private names of a page that a proxy is asked for by name, which it looks up itself.
 * Throws PrivateAddress.
 */
export async function refuseBehindProxy(host: string, options: LookupOptions): Promise<void> {
  if (isIP(host) !== 0) return;
  if (LOCAL_NAME.test(host)) throw new PrivateAddress(`${host} is no name of the public internet`);
  await new Promise<void>((resolve, reject) =>
    createPublicLookup(options)(host, { all: true }, (error) => {
      // Where only the proxy looks names up, nothing is found here.
      if (error instanceof PrivateAddress) reject(error);
      else resolve();
    }),
  );
}
