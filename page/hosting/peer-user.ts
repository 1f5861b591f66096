// Tells which user of this machine opened a loopback connection. The kernel keeps that for each
// socket (/proc/net/tcp), and nobody can change it. Linux alone has it.
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';

/** The ends of a connection, as the server sees them. */
export type Peer = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** Stands for every user that a user namespace does not know. */
const UNKNOWN_USER = 65_534;

/** Tells whether the kernel says who opened a connection. */
export const knowsPeers = (): boolean => process.getuid !== undefined && readTable(TABLES[0] ?? '') !== '';

/**
 * Tells whether the kernel says that this process's own user opened the connection, or root, who
 * can read the data folder anyway.
 */
export function isOwnPeer(peer: Peer | undefined): boolean {
  const own = process.getuid?.();
  const find = (): number | null => (peer === undefined ? null : userOf(peer, TABLES.map(readTable).join('\n')));
  // A table that changes while it is read may lack a row.
  const user = find() ?? find();
  return user !== null && user !== UNKNOWN_USER && (user === own || user === 0);
}

/** Returns the user of the socket at the other end, by the text of the kernel's tables; or null. */
export function userOf({ remoteAddress, remotePort, localPort }: Peer, tables: string): number | null {
  if (!isLoopback(remoteAddress) || remotePort === undefined || localPort === undefined) return null;
  const ends = [remotePort, localPort].map((port) => port.toString(16).toUpperCase().padStart(4, '0'));
  const row = new RegExp(`^ *\\d+: ([0-9A-F]+):${ends[0]} ([0-9A-F]+):${ends[1]} 01 (?:\\S+ ){3} *(\\d+) `, 'gm');
  const users = [...tables.matchAll(row)].flatMap(([, from = '', to = '', user]) =>
    [from, to].every(isLoopbackHex) ? [Number(user)] : [],
  );
  // Addresses of 127.0.0.0/8 may use the same two ports at once: then nothing is known.
  return new Set(users).size === 1 ? (users[0] ?? null) : null;
}

const isLoopback = (address: string | undefined): boolean => /^(?:::1$|(?:::ffff:)?127\.)/.test(address ?? '');

/** Words of four bytes in the machine's order: little-endian wherever Node runs on Linux. */
const isLoopbackHex = (hex: string): boolean =>
  /^(?:[0-9A-F]{6}7F|0{16}FFFF0000[0-9A-F]{6}7F|0{24}01000000)$/.test(hex);

function readTable(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // Another system, or one that hides it: nothing is known there.
    return '';
  }
}
