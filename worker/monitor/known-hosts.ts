// Decides which Host a monitor answers. A page of another site reaches this machine's ports under a
// name of its own that leads here (DNS rebinding); it has no power over an address that is written
// as a number, nor over the names that the operator chose.
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { ConfigProblem } from '../config/config.ts';

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?$/;

/** Parses PERDURE_METRICS_HOSTS: names, with commas between. Throws ConfigProblem. */
export function parseNamedHosts(list = ''): readonly string[] {
  const names = list.split(',').flatMap((name) => name.trim().toLowerCase() || []);
  const wrong = names.find((name) => !NAME.test(name));
  if (wrong === undefined) return names;
  throw new ConfigProblem(
    `PERDURE_METRICS_HOSTS has ${JSON.stringify(wrong.slice(0, 80))}: give names without ports, as in worker-1.internal,worker`,
  );
}

/**
 * Tells whether a Host header is known. `listens` is the name or address that the monitor listens
 * on. A client without the header is too old to send one, and is answered.
 */
export function isKnownHost(host: string | undefined, listens: string, named: readonly string[]): boolean {
  if (host === undefined) return true;
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:]*))(?::\d{1,5})?$/.exec(host.toLowerCase());
  const name = match?.[1] ?? match?.[2] ?? '';
  const isHere = name === 'localhost' || isLoopback(name);
  if (isHere || [listens.toLowerCase(), ...named].includes(name)) return true;
  return !isLoopback(listens) && listens !== 'localhost' && (isIP(name) !== 0 || name === hostname().toLowerCase());
}

const isLoopback = (address: string): boolean =>
  isIP(address) !== 0 && (address === '::1' || /^(?:::ffff:)?127\./.test(address));
