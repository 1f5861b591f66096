// The address of the page of one data folder: its name, its token and its port are kept, so that a link or an open tab still leads to it
// after a restart. The file is as private as the folder: who reads it may steer.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeJsonFile } from '../../worker/json-file.ts';

export type PageAddress = {
  readonly token: string;
  /** A host name that no other page has: a browser sends a cookie to every port of a host. */
  readonly name: string;
  /** 0: a free one. */
  readonly port: number;
};

const schema = z.object({
  token: z.string().regex(/^[\w-]{32,64}$/),
  name: z.string().regex(/^perdure-[0-9a-f]{16}\.localhost$/),
  port: z.number().int().min(0).max(65_535),
});

export function newAddress(): PageAddress {
  return {
    token: randomBytes(24).toString('base64url'),
    name: `perdure-${randomBytes(8).toString('hex')}.localhost`,
    port: 0,
  };
}

export type KeptAddress = {
  readonly address: PageAddress;
  /** The port that it was given. */
  keep(port: number): void;
};

/** `root`: the data folder. A file that is damaged is replaced: whoever had the old token opens the printed address again. */
export function keptAddress(root: string): KeptAddress {
  const path = join(root, 'page.json');
  const known = readJsonFile(path, schema);
  const address = known.kind === 'read' ? known.value : newAddress();
  return {
    address,
    keep: (port) => {
      if (known.kind !== 'read' || known.value.port !== port) writeJsonFile(path, { ...address, port }, 'not durable');
    },
  };
}
